package openflow

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"strings"
)

// Versions of the protocol as they stand in a message's header.
const (
	version10 = 0x01
	version13 = 0x04
	version14 = 0x05
)

// offered has a bit for every version spoken here. The messages used are encoded
// alike in 1.3 and 1.4; in 1.5 the flow description differs.
const offered uint32 = 1<<version13 | 1<<version14

// Message types (OpenFlow 1.3 and 1.4, ofp_type).
const (
	typeHello            = 0
	typeError            = 1
	typeEchoRequest      = 2
	typeEchoReply        = 3
	typeFlowMod          = 14
	typeMultipartRequest = 18
	typeMultipartReply   = 19
	typeBarrierRequest   = 20
	typeBarrierReply     = 21
)

const headerLen = 8

// message is one OpenFlow message; body is what follows the header.
type message struct {
	version byte
	kind    byte
	xid     uint32
	body    []byte
}

func (m message) encode() []byte {
	b := make([]byte, 0, headerLen+len(m.body))
	b = append(b, m.version, m.kind)
	b = binary.BigEndian.AppendUint16(b, uint16(headerLen+len(m.body)))
	b = binary.BigEndian.AppendUint32(b, m.xid)
	return append(b, m.body...)
}

// readMessage takes the next message off a stream.
func readMessage(r io.Reader) (message, error) {
	var header [headerLen]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return message{}, err
	}
	length := binary.BigEndian.Uint16(header[2:])
	if length < headerLen {
		return message{}, fmt.Errorf("OpenFlow message of %d bytes, shorter than its header", length)
	}
	m := message{version: header[0], kind: header[1], xid: binary.BigEndian.Uint32(header[4:]), body: make([]byte, length-headerLen)}
	if _, err := io.ReadFull(r, m.body); err != nil {
		return message{}, fmt.Errorf("OpenFlow message cut short: %w", err)
	}
	return m, nil
}

const helloVersionBitmap = 1 // ofp_hello_elem_type

// hello is the first message of a connection.
func hello() message {
	body := binary.BigEndian.AppendUint16(nil, helloVersionBitmap)
	body = binary.BigEndian.AppendUint16(body, 8)
	body = binary.BigEndian.AppendUint32(body, offered)
	return message{version: highest(offered), kind: typeHello, body: body}
}

// helloVersions is the set of versions that a peer's HELLO allows: its version
// bitmap, or without one every version up to that of its header.
func helloVersions(m message) uint32 {
	for rest := m.body; len(rest) >= 4; {
		kind, length := binary.BigEndian.Uint16(rest), int(binary.BigEndian.Uint16(rest[2:]))
		if length < 4 || length > len(rest) {
			break
		}
		if kind == helloVersionBitmap && length >= 8 {
			return binary.BigEndian.Uint32(rest[4:])
		}
		rest = rest[min((length+7)/8*8, len(rest)):]
	}
	if m.version >= 31 {
		return ^uint32(1)
	}
	return 1<<(m.version+1) - 2
}

func highest(versions uint32) byte { return byte(bits.Len32(versions) - 1) }

// protocols writes a set of versions as the column Bridge.protocols does.
func protocols(versions uint32) string {
	var names []string
	for v := byte(version10); v < 32; v++ {
		if versions&(1<<v) != 0 {
			names = append(names, fmt.Sprintf("OpenFlow1%d", v-version10))
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}
