package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ovn-bgp-agent/agent/node"
)

// Parameters that [node.Facts.Forwarding] is about.
var forwardingKeys = [...]string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"}

// sysctlPath is the file of a parameter: sysctl(8) separates by dots and writes
// a dot of a name as a slash.
func (k *Kernel) sysctlPath(key string) string {
	return filepath.Join(k.config.ProcSys, strings.NewReplacer(".", "/", "/", ".").Replace(key))
}

// readSysctl reads a parameter; false when the kernel does not have it.
func (k *Kernel) readSysctl(key string) (string, bool, error) {
	text, err := os.ReadFile(k.sysctlPath(key))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read sysctl %s: %w", key, err)
	}
	return strings.TrimSpace(string(text)), true, nil
}

// makeSysctl writes a parameter that has another value.
func (k *Kernel) makeSysctl(key, value string) error {
	present, exists, err := k.readSysctl(key)
	if err != nil || (exists && present == value) {
		return err
	}
	k.countWrite(node.KindSysctl)
	file, err := os.OpenFile(k.sysctlPath(key), os.O_WRONLY, 0)
	if err != nil {
		return named(err)
	}
	_, err = file.WriteString(value)
	return named(errors.Join(err, file.Close()))
}

func (k *Kernel) readForwarding() (map[string]bool, error) {
	forwarding := map[string]bool{}
	for _, key := range forwardingKeys {
		value, exists, err := k.readSysctl(key)
		if err != nil {
			return nil, err
		}
		if exists {
			forwarding[key] = value != "0"
		}
	}
	return forwarding, nil
}
