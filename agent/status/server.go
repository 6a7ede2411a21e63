package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// requestTime bounds one request.
const requestTime = 30 * time.Second

// Listen opens the socket at path, with the file mode given, and makes its folder.
// A socket that nobody serves any more is replaced; one that is served is an error.
func Listen(path string, mode os.FileMode) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("status socket: %w", err)
	}
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		return nil, errors.Join(fmt.Errorf("status socket %s: another agent serves it", path), conn.Close())
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("status socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("status socket: %w", err)
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("status socket: %w", err), listener.Close())
	}
	return listener, nil
}

// Serve answers requests until the context ends.
func Serve(ctx context.Context, listener net.Listener, a Agent, log *slog.Logger) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", answer(log, func(ctx context.Context) (any, error) { return a.Report(ctx) }))
	mux.HandleFunc("POST /sync", answer(log, func(ctx context.Context) (any, error) { return a.Sync(ctx) }))
	mux.HandleFunc("GET /settled", answer(log, func(ctx context.Context) (any, error) { return struct{}{}, a.Settled(ctx) }))
	mux.HandleFunc("POST /confirm", answer(log, func(ctx context.Context) (any, error) { return struct{}{}, a.Confirm(ctx) }))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: requestTime, WriteTimeout: 2 * requestTime}
	stop := context.AfterFunc(ctx, func() {
		if err := server.Close(); err != nil {
			log.Warn("closing the status socket", "error", err)
		}
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("status socket: %w", err)
	}
	return nil
}

// failure is an answer with an error.
type failure struct {
	Error string `json:"error"`
}

func answer(log *slog.Logger, do func(context.Context) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTime)
		defer cancel()
		value, err := do(ctx)
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			value = failure{err.Error()}
		}
		if err := json.NewEncoder(w).Encode(value); err != nil {
			log.Debug("a status client went away", "error", err)
		}
	}
}
