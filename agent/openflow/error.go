package openflow

import (
	"encoding/binary"
	"fmt"
)

// Error is an error that a switch has answered with (OpenFlow 1.3 §7.4.4).
type Error struct{ Type, Code uint16 }

// Error names type and code as the specification does.
func (e Error) Error() string {
	t, known := errorTypes[e.Type]
	if !known {
		return fmt.Sprintf("OpenFlow error type %d code %d", e.Type, e.Code)
	}
	if int(e.Code) >= len(t.codes) {
		return fmt.Sprintf("OpenFlow error %s code %d", t.name, e.Code)
	}
	return "OpenFlow error " + t.name + " " + t.codes[e.Code]
}

func decodeError(body []byte) error {
	if len(body) < 4 {
		return fmt.Errorf("OpenFlow error message of %d bytes", len(body))
	}
	return Error{binary.BigEndian.Uint16(body), binary.BigEndian.Uint16(body[2:])}
}

type errorType struct {
	name  string
	codes []string // by code
}

// errorTypes are those that what is sent here can meet.
var errorTypes = map[uint16]errorType{
	0: {"OFPET_HELLO_FAILED", []string{"OFPHFC_INCOMPATIBLE", "OFPHFC_EPERM"}},
	1: {"OFPET_BAD_REQUEST", []string{
		"OFPBRC_BAD_VERSION", "OFPBRC_BAD_TYPE", "OFPBRC_BAD_MULTIPART", "OFPBRC_BAD_EXPERIMENTER",
		"OFPBRC_BAD_EXP_TYPE", "OFPBRC_EPERM", "OFPBRC_BAD_LEN", "OFPBRC_BUFFER_EMPTY", "OFPBRC_BUFFER_UNKNOWN",
		"OFPBRC_BAD_TABLE_ID", "OFPBRC_IS_SLAVE", "OFPBRC_BAD_PORT", "OFPBRC_BAD_PACKET",
		"OFPBRC_MULTIPART_BUFFER_OVERFLOW",
	}},
	2: {"OFPET_BAD_ACTION", []string{
		"OFPBAC_BAD_TYPE", "OFPBAC_BAD_LEN", "OFPBAC_BAD_EXPERIMENTER", "OFPBAC_BAD_EXP_TYPE", "OFPBAC_BAD_OUT_PORT",
		"OFPBAC_BAD_ARGUMENT", "OFPBAC_EPERM", "OFPBAC_TOO_MANY", "OFPBAC_BAD_QUEUE", "OFPBAC_BAD_OUT_GROUP",
		"OFPBAC_MATCH_INCONSISTENT", "OFPBAC_UNSUPPORTED_ORDER", "OFPBAC_BAD_TAG", "OFPBAC_BAD_SET_TYPE",
		"OFPBAC_BAD_SET_LEN", "OFPBAC_BAD_SET_ARGUMENT",
	}},
	3: {"OFPET_BAD_INSTRUCTION", []string{
		"OFPBIC_UNKNOWN_INST", "OFPBIC_UNSUP_INST", "OFPBIC_BAD_TABLE_ID", "OFPBIC_UNSUP_METADATA",
		"OFPBIC_UNSUP_METADATA_MASK", "OFPBIC_BAD_EXPERIMENTER", "OFPBIC_BAD_EXP_TYPE", "OFPBIC_BAD_LEN", "OFPBIC_EPERM",
	}},
	4: {"OFPET_BAD_MATCH", []string{
		"OFPBMC_BAD_TYPE", "OFPBMC_BAD_LEN", "OFPBMC_BAD_TAG", "OFPBMC_BAD_DL_ADDR_MASK", "OFPBMC_BAD_NW_ADDR_MASK",
		"OFPBMC_BAD_WILDCARDS", "OFPBMC_BAD_FIELD", "OFPBMC_BAD_VALUE", "OFPBMC_BAD_MASK", "OFPBMC_BAD_PREREQ",
		"OFPBMC_DUP_FIELD", "OFPBMC_EPERM",
	}},
	5: {"OFPET_FLOW_MOD_FAILED", []string{
		"OFPFMFC_UNKNOWN", "OFPFMFC_TABLE_FULL", "OFPFMFC_BAD_TABLE_ID", "OFPFMFC_OVERLAP", "OFPFMFC_EPERM",
		"OFPFMFC_BAD_TIMEOUT", "OFPFMFC_BAD_COMMAND", "OFPFMFC_BAD_FLAGS",
	}},
}
