package frr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// killWait is how long the output of a killed vtysh is waited for.
const killWait = time.Second

// vtysh has FRR execute a text. A line that FRR refuses makes vtysh(1) exit with
// an error, although other lines have taken effect.
func (f *FRR) vtysh(ctx context.Context, text string) (err error) {
	file, err := writeTemp(text)
	if err != nil {
		return fmt.Errorf("file for vtysh: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(file)) }()

	limited, cancel := context.WithTimeout(ctx, f.config.Timeout)
	defer cancel()
	command := exec.CommandContext(limited, f.config.Vtysh, "--vty_socket", strings.TrimRight(f.config.VtyDir, "/")+"/", "-f", file)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = killWait
	output, err := command.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("vtysh: %w", ctx.Err())
	case limited.Err() != nil:
		return fmt.Errorf("%w: vtysh did not end within %v", ErrUnreachable, f.config.Timeout)
	}
	return fmt.Errorf("vtysh: %w: %s", err, strings.TrimSpace(string(output)))
}

// writeTemp puts a text into a new file that only this user can read.
func writeTemp(text string) (name string, err error) {
	file, err := os.CreateTemp("", "ovn-bgp-agent-*.conf")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}
