package openflow

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ovn-bgp-agent/agent/node"
)

// Flow-mod commands, flags and constants (OpenFlow 1.3 §7.3.4.1).
const (
	commandAdd          = 0
	commandDeleteStrict = 4

	// flagResetCounts is what a flow added by OpenFlow 1.0 carries.
	flagResetCounts = 1 << 2

	bufferNone = 0xffffffff
	groupAny   = 0xffffffff
	exact      = ^uint64(0)
	matchOXM   = 1 // ofp_match_type
)

// flowMod is a change of one flow of table 0. The cookie mask counts for deletion
// only; it keeps flows of other cookies from being touched.
func flowMod(command byte, priority uint16, oxms, instructions []byte) message {
	b := binary.BigEndian.AppendUint64(nil, node.Cookie)
	mask, flags := uint64(0), uint16(flagResetCounts)
	if command == commandDeleteStrict {
		mask, flags = exact, 0
	}
	b = binary.BigEndian.AppendUint64(b, mask)
	b = append(b, 0, command, 0, 0, 0, 0) // table, command, timeouts
	b = binary.BigEndian.AppendUint16(b, priority)
	b = binary.BigEndian.AppendUint32(b, bufferNone)
	b = binary.BigEndian.AppendUint32(b, portAny)
	b = binary.BigEndian.AppendUint32(b, groupAny)
	b = binary.BigEndian.AppendUint16(b, flags)
	b = append(b, 0, 0)
	b = appendMatch(b, oxms)
	return message{kind: typeFlowMod, body: append(b, instructions...)}
}

func appendMatch(b, oxms []byte) []byte {
	length := 4 + len(oxms)
	b = binary.BigEndian.AppendUint16(b, matchOXM)
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, oxms...)
	return append(b, make([]byte, padded(length)-length)...)
}

func padded(n int) int { return (n + 7) / 8 * 8 }

const (
	multipartFlow = 1 // ofp_multipart_type
	multipartMore = 1 // ofp_multipart_reply_flags
)

// flowRequest asks for the flows of table 0 that a match covers: those of a cookie
// under its mask.
func flowRequest(cookie, mask uint64, oxms []byte) message {
	b := []byte{0, multipartFlow, 0, 0, 0, 0, 0, 0}
	b = append(b, 0, 0, 0, 0) // table
	b = binary.BigEndian.AppendUint32(b, portAny)
	b = binary.BigEndian.AppendUint32(b, groupAny)
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint64(b, cookie)
	b = binary.BigEndian.AppendUint64(b, mask)
	return message{kind: typeMultipartRequest, body: appendMatch(b, oxms)}
}

// flow is an entry of a flow table.
type flow struct {
	cookie   uint64
	priority uint16
	match    string
	actions  string // with its timeouts in front if it has any
}

const flowStatsLen = 48 // of ofp_flow_stats up to the match

// decodeFlows reads the body of one part of a reply to [flowRequest].
func decodeFlows(body []byte) ([]flow, error) {
	if len(body) < 8 || binary.BigEndian.Uint16(body) != multipartFlow {
		return nil, errors.New("not a flow statistics reply")
	}
	var flows []flow
	for rest := body[8:]; len(rest) > 0; {
		if len(rest) < flowStatsLen+8 {
			return nil, fmt.Errorf("flow statistics cut short after %d bytes", len(rest))
		}
		length := int(binary.BigEndian.Uint16(rest))
		if length < flowStatsLen+8 || length > len(rest) {
			return nil, fmt.Errorf("flow statistics of %d bytes in %d", length, len(rest))
		}
		f, err := decodeFlow(rest[:length])
		if err != nil {
			return nil, err
		}
		flows = append(flows, f)
		rest = rest[length:]
	}
	return flows, nil
}

func decodeFlow(b []byte) (flow, error) {
	matchLen := int(binary.BigEndian.Uint16(b[flowStatsLen+2:]))
	if binary.BigEndian.Uint16(b[flowStatsLen:]) != matchOXM || matchLen < 4 || flowStatsLen+padded(matchLen) > len(b) {
		return flow{}, fmt.Errorf("flow statistics with a match of %d bytes in %d", matchLen, len(b)-flowStatsLen)
	}
	f := flow{
		cookie:   binary.BigEndian.Uint64(b[24:]),
		priority: binary.BigEndian.Uint16(b[12:]),
		match:    matchText(b[flowStatsLen+4 : flowStatsLen+matchLen]),
		actions:  instructionsText(b[flowStatsLen+padded(matchLen):]),
	}
	if idle, hard := binary.BigEndian.Uint16(b[14:]), binary.BigEndian.Uint16(b[16:]); idle != 0 || hard != 0 {
		f.actions = fmt.Sprintf("idle_timeout=%d,hard_timeout=%d,%s", idle, hard, f.actions)
	}
	return f, nil
}
