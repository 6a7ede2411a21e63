package frr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"
)

// vty is a connection to a daemon's vty socket, in its enable mode. It speaks
// vtysh's protocol: a command ends with NUL; its answer ends with three NULs and
// the command's return code.
type vty struct {
	daemon  string
	stream  net.Conn
	timeout time.Duration
	buffer  []byte // received and not yet taken
}

// dial connects to the vty socket of a daemon. Its errors wrap ErrUnreachable.
func (f *FRR) dial(ctx context.Context, daemon string) (*vty, error) {
	ctx, cancel := context.WithTimeout(ctx, f.config.Timeout)
	defer cancel()
	stream, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(f.config.VtyDir, daemon+".vty"))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnreachable, daemon, err)
	}
	v := &vty{daemon: daemon, stream: stream, timeout: f.config.Timeout}
	if _, err := v.run(ctx, "enable"); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

func (v *vty) close() { _ = v.stream.Close() }

// run has the daemon execute a command and returns what it prints. An error that
// does not wrap ErrUnreachable is the daemon's refusal.
func (v *vty) run(ctx context.Context, command string) (string, error) {
	deadline := time.Now().Add(v.timeout)
	if err := v.stream.SetDeadline(deadline); err != nil {
		return "", v.broken(err)
	}
	// The deadline ends reading and writing also when the context does.
	stop := context.AfterFunc(ctx, func() { _ = v.stream.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := v.stream.Write(append([]byte(command), 0)); err != nil {
		return "", v.broken(errors.Join(err, ctx.Err()))
	}
	text, code, err := v.answer()
	if err != nil {
		return "", v.broken(errors.Join(err, ctx.Err()))
	}
	if code != 0 {
		return "", fmt.Errorf("%s refuses %q: code %d: %s", v.daemon, command, code, strings.TrimSpace(text))
	}
	return text, nil
}

func (v *vty) broken(err error) error { return fmt.Errorf("%w: %s: %w", ErrUnreachable, v.daemon, err) }

// answer reads up to the end of an answer.
func (v *vty) answer() (text string, code byte, err error) {
	chunk := make([]byte, 64<<10)
	for {
		if end := bytes.Index(v.buffer, []byte{0, 0, 0}); end >= 0 && len(v.buffer) > end+3 {
			text, code = string(v.buffer[:end]), v.buffer[end+3]
			v.buffer = v.buffer[end+4:]
			return text, code, nil
		}
		n, err := v.stream.Read(chunk)
		v.buffer = append(v.buffer, chunk[:n]...)
		if err != nil {
			return "", 0, err
		}
	}
}

// wait returns when the daemon ends the connection or the context ends.
func (v *vty) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = v.stream.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := v.stream.SetDeadline(time.Time{}); err != nil {
		return v.broken(err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_, err := v.stream.Read(make([]byte, 1)) // a daemon says nothing unasked
	if err == nil {
		err = errors.New("unexpected output")
	}
	return v.broken(errors.Join(err, ctx.Err()))
}
