package openflow

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
)

// Instructions and actions (OpenFlow 1.3 §7.2.4, §7.2.5).
const (
	instructionApply = 4
	actionOutput     = 0
	actionSetField   = 25

	actionOutputLen   = 16
	actionSetFieldLen = 16 // of a field of six bytes
)

const modDLDst = "mod_dl_dst:"

// instructionsText writes instructions in the syntax of ovs-ofctl(8) for OpenFlow
// 1.0, raw:HEX when they are more than a list of the actions known here.
func instructionsText(b []byte) string {
	if len(b) == 0 {
		return "drop"
	}
	if text, ok := namedActions(b); ok {
		return text
	}
	return rawPrefix + hex.EncodeToString(b)
}

func namedActions(b []byte) (string, bool) {
	if len(b) < 16 || binary.BigEndian.Uint16(b) != instructionApply || int(binary.BigEndian.Uint16(b[2:])) != len(b) {
		return "", false
	}
	var parts []string
	for rest := b[8:]; len(rest) > 0; {
		if len(rest) < 8 {
			return "", false
		}
		length := int(binary.BigEndian.Uint16(rest[2:]))
		if length < 8 || length > len(rest) {
			return "", false
		}
		part, ok := actionText(rest[:length])
		if !ok {
			return "", false
		}
		parts = append(parts, part)
		rest = rest[length:]
	}
	return strings.Join(parts, ","), true
}

func actionText(b []byte) (string, bool) {
	switch kind := binary.BigEndian.Uint16(b); {
	case kind == actionOutput && len(b) == actionOutputLen:
		return outputText(binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint16(b[8:])), true
	case kind == actionSetField && len(b) == actionSetFieldLen:
		list, err := splitOXMs(b[4:14])
		if err != nil || len(list) != 1 || list[0].class != classBasic || list[0].field != oxmEthDst || list[0].mask != nil {
			return "", false
		}
		return modDLDst + net.HardwareAddr(list[0].value).String(), true
	}
	return "", false
}

func outputText(port uint32, maxLen uint16) string {
	name, reserved := reservedPorts[port]
	switch {
	case !reserved:
		return "output:" + portText(port)
	case name == "CONTROLLER":
		return fmt.Sprintf("%s:%d", name, maxLen)
	}
	return name
}

// parseActions turns the text of actions into instructions.
func parseActions(text string) ([]byte, error) {
	var actions []byte
	for part := range strings.SplitSeq(text, ",") {
		var err error
		if actions, err = appendAction(actions, part); err != nil {
			return nil, fmt.Errorf("actions %q: %w", text, err)
		}
	}
	b := binary.BigEndian.AppendUint16(nil, instructionApply)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(actions)))
	b = append(b, 0, 0, 0, 0)
	return append(b, actions...), nil
}

func appendAction(b []byte, part string) ([]byte, error) {
	if text, ok := strings.CutPrefix(part, modDLDst); ok {
		mac, err := parseMAC(text)
		if err != nil {
			return nil, err
		}
		b = binary.BigEndian.AppendUint16(b, actionSetField)
		b = binary.BigEndian.AppendUint16(b, actionSetFieldLen)
		b = oxm{class: classBasic, field: oxmEthDst, value: mac}.append(b)
		return append(b, 0, 0), nil
	}
	name, _ := strings.CutPrefix(part, "output:")
	port, err := parsePort(name)
	if err != nil {
		return nil, fmt.Errorf("unknown action %q: %w", part, err)
	}
	b = binary.BigEndian.AppendUint16(b, actionOutput)
	b = binary.BigEndian.AppendUint16(b, actionOutputLen)
	b = binary.BigEndian.AppendUint32(b, port)
	return append(b, make([]byte, 8)...), nil
}
