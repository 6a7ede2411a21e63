package fabric

import (
	"context"
	"log/slog"

	gobgp "github.com/osrg/gobgp/v3/pkg/log"
)

// gobgpLogger passes GoBGP's log on, one level down: a lost session is a warning to
// GoBGP and an ordinary event to the testbed.
type gobgpLogger struct{ log *slog.Logger }

// Panic implements gobgp.Logger.
func (l gobgpLogger) Panic(msg string, f gobgp.Fields) { l.emit(slog.LevelError, msg, f) }

// Fatal implements gobgp.Logger.
func (l gobgpLogger) Fatal(msg string, f gobgp.Fields) { l.emit(slog.LevelError, msg, f) }

// Error implements gobgp.Logger.
func (l gobgpLogger) Error(msg string, f gobgp.Fields) { l.emit(slog.LevelError, msg, f) }

// Warn implements gobgp.Logger.
func (l gobgpLogger) Warn(msg string, f gobgp.Fields) { l.emit(slog.LevelInfo, msg, f) }

// Info implements gobgp.Logger.
func (l gobgpLogger) Info(msg string, f gobgp.Fields) { l.emit(slog.LevelDebug, msg, f) }

// Debug implements gobgp.Logger.
func (l gobgpLogger) Debug(msg string, f gobgp.Fields) { l.emit(slog.LevelDebug, msg, f) }

// SetLevel implements gobgp.Logger; the level is the handler's.
func (l gobgpLogger) SetLevel(gobgp.LogLevel) {}

// GetLevel implements gobgp.Logger. GoBGP asks before it builds costly messages.
func (l gobgpLogger) GetLevel() gobgp.LogLevel {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		return gobgp.DebugLevel
	}
	return gobgp.WarnLevel
}

func (l gobgpLogger) emit(level slog.Level, msg string, fields gobgp.Fields) {
	if !l.log.Enabled(context.Background(), level) {
		return
	}
	args := make([]any, 0, 2*len(fields))
	for name, value := range fields {
		args = append(args, name, value)
	}
	l.log.Log(context.Background(), level, "gobgp: "+msg, args...)
}
