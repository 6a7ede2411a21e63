package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	requestTime = 30 * time.Second // bounds what the agent does for one request
	answerTime  = 2 * requestTime  // bounds a request with its answer, however slow the client is
	probeTime   = time.Second      // how long to look for another agent
)

// Listen opens the socket at path, with the file mode given, and makes its folder.
// A socket that nobody serves any more is replaced; one that is served is an error,
// as is anything that is no socket.
func Listen(path string, mode os.FileMode) (net.Listener, error) {
	listener, err := listen(path, mode)
	if err != nil {
		return nil, fmt.Errorf("status socket %s: %w", path, err)
	}
	return listener, nil
}

func listen(path string, mode os.FileMode) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// removeStale removes a socket that refuses connections: its server is gone.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("it is not a socket")
	}
	conn, err := net.DialTimeout("unix", path, probeTime)
	switch {
	case err == nil:
		return errors.Join(errors.New("another agent serves it"), conn.Close())
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("cannot tell whether another agent serves it: %w", err)
	}
	return os.Remove(path)
}

// Serve answers requests until the context ends, then removes the socket.
func Serve(ctx context.Context, listener net.Listener, a Agent, log *slog.Logger) error {
	server := &http.Server{
		Handler:           routes(a, log),
		ReadHeaderTimeout: requestTime,
		WriteTimeout:      answerTime,
		IdleTimeout:       requestTime,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
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

func routes(a Agent, log *slog.Logger) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", answer(log, func(ctx context.Context) (any, error) {
		r, err := a.Report(ctx)
		return r.complete(), err
	}))
	mux.HandleFunc("POST /sync", answer(log, func(ctx context.Context) (any, error) { return a.Sync(ctx) }))
	mux.HandleFunc("GET /settled", answer(log, func(ctx context.Context) (any, error) { return struct{}{}, a.Settled(ctx) }))
	mux.HandleFunc("POST /confirm", answer(log, func(ctx context.Context) (any, error) { return struct{}{}, a.Confirm(ctx) }))
	return mux
}

// failure is an answer with an error.
type failure struct {
	Error string `json:"error"`
}

// answer serves one route. The agent is done with the request before the answer is
// written, so a client that does not read holds up nobody.
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
