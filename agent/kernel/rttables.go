package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"ovn-bgp-agent/agent/node"
)

// tableLine is a line of rt_tables that counts (side-effects.md §2.4).
var tableLine = regexp.MustCompile(`(?m)^([0-9]+)[^\S\n]+(\S+)`)

// parseRTTables lists the first number of each name, and every number.
func parseRTTables(text []byte) (names map[string]uint32, numbers map[uint32]struct{}) {
	names, numbers = map[string]uint32{}, map[uint32]struct{}{}
	for _, m := range tableLine.FindAllSubmatch(text, -1) {
		number, err := strconv.ParseUint(string(m[1]), 10, 32)
		if err != nil {
			continue // no table has such a number
		}
		numbers[uint32(number)] = struct{}{}
		if _, named := names[string(m[2])]; !named {
			names[string(m[2])] = uint32(number)
		}
	}
	return names, numbers
}

// readRTTables is the text of rt_tables, of the distribution's default while
// the file is missing; exists tells which.
func (k *Kernel) readRTTables() (text []byte, exists bool, err error) {
	text, err = os.ReadFile(k.config.RTTables)
	if err == nil {
		return text, true, nil
	}
	for _, path := range k.config.RTTablesDefault {
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if text, err = os.ReadFile(path); err == nil {
			return text, false, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("read the names of routing tables: %w", err)
}

// makeRTTable gives a table a name. The file is read anew: others write it too.
func (k *Kernel) makeRTTable(name string, number uint32) error {
	text, exists, err := k.readRTTables()
	if err != nil {
		return err
	}
	names, _ := parseRTTables(text)
	if present, listed := names[name]; listed && present != number {
		return fmt.Errorf("%s gives %s the table %d, table %d is wanted", k.config.RTTables, name, present, number)
	} else if listed && exists {
		return nil
	}
	line := fmt.Sprintf("%d %s\n", number, name)
	if _, listed := names[name]; listed {
		line = ""
	}
	k.countWrite(node.KindRTTable)
	if exists {
		err = appendFile(k.config.RTTables, separated(text, line))
	} else {
		err = createFile(k.config.RTTables, append(text, separated(text, line)...))
	}
	if err != nil {
		return fmt.Errorf("cannot write the line %q to %s: %w", fmt.Sprintf("%d %s", number, name), k.config.RTTables, named(err))
	}
	return nil
}

// separated puts a newline before a line where the text lacks its last one.
func separated(text []byte, line string) string {
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		return "\n" + line
	}
	return line
}

func appendFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// createFile makes a file that appears complete or not at all.
func createFile(path string, text []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".rt_tables-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(text)
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
