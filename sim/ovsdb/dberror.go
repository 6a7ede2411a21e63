package ovsdb

import (
	"encoding/json"
	"fmt"
)

// dbError is an OVSDB <error> object (RFC 7047 section 3.1). The tags are
// those of the RFC's section 4.1.3 and of ovsdb-server.
type dbError struct {
	tag     string
	details string
	syntax  any // the JSON that was refused, nil if none
}

func (e *dbError) Error() string {
	if e.details == "" {
		return e.tag
	}
	return e.tag + ": " + e.details
}

func (e *dbError) json() map[string]any {
	obj := map[string]any{"error": e.tag}
	if e.details != "" {
		obj["details"] = e.details
	}
	if e.syntax != nil {
		if text, err := json.Marshal(e.syntax); err == nil {
			obj["syntax"] = string(text)
		}
	}
	return obj
}

func newDBError(tag, format string, args ...any) *dbError {
	return &dbError{tag: tag, details: fmt.Sprintf(format, args...)}
}

func syntaxError(at any, format string, args ...any) *dbError {
	return &dbError{tag: "syntax error", details: fmt.Sprintf(format, args...), syntax: at}
}

func constraint(format string, args ...any) *dbError {
	return newDBError("constraint violation", format, args...)
}
