package state

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (r Reader) readRTTables(ctx context.Context, s State) error {
	if r.Run == nil {
		return nil
	}
	text, err := r.Run(ctx, "cat", "/etc/iproute2/rt_tables")
	if err != nil {
		return fmt.Errorf("rt_tables: %w", err)
	}
	s[RTTables] = rtTableLines(text)
	return nil
}

// rtTableLines are the lines that iproute2 does not come with.
func rtTableLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) != 2 || slices.Contains([]string{"255", "254", "253", "0"}, fields[0]) {
			continue
		}
		lines = append(lines, fields[0]+" "+fields[1])
	}
	return lines
}

// readFlows reads the flows that have a cookie.
func (r Reader) readFlows(ctx context.Context, s State) error {
	if r.Run == nil {
		return nil
	}
	var problems []error
	for _, bridge := range r.Bridges {
		text, err := r.Run(ctx, "ovs-ofctl", "dump-flows", "--no-stats", bridge)
		if err != nil {
			problems = append(problems, fmt.Errorf("flows of %s: %w", bridge, err))
			continue
		}
		for line := range strings.Lines(text) {
			if flow, ok := flowLine(line); ok {
				s[Flows] = append(s[Flows], bridge+" "+flow)
			}
		}
	}
	return errors.Join(problems...)
}

// flowLine brings a line of ovs-ofctl into one form, whatever its version prints:
// "cookie=999 priority=900,in_port=1,ip actions=…", with the table only when it is
// not 0 and the match sorted. The two spellings of an Ethernet destination, that of
// OpenFlow 1.0 and that of 1.3, become the former.
func flowLine(line string) (string, bool) {
	head, actions, ok := strings.Cut(strings.TrimSpace(line), "actions=")
	if !ok {
		return "", false
	}
	cookie, table, priority := uint64(0), "0", "32768"
	var match []string
	for _, field := range strings.FieldsFunc(head, func(c rune) bool { return c == ',' || c == ' ' }) {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "cookie":
			cookie, _ = strconv.ParseUint(value, 0, 64) // ovs-ofctl prints nothing else
		case "table":
			table = value
		case "priority":
			priority = value
		default:
			match = append(match, field)
		}
	}
	if cookie == 0 {
		return "", false
	}
	slices.Sort(match)
	fields := append([]string{"priority=" + priority}, match...)
	if table != "0" {
		fields = append([]string{"table=" + table}, fields...)
	}
	return fmt.Sprintf("cookie=%d %s actions=%s", cookie, strings.Join(fields, ","), oldSpelling(actions)), true
}

var setEthDst = regexp.MustCompile(`set_field:([0-9a-f:]{17})->eth_dst`)

func oldSpelling(actions string) string {
	return setEthDst.ReplaceAllString(actions, "mod_dl_dst:$1")
}

func (r Reader) readFRR(ctx context.Context, s State) error {
	if r.Run == nil || !r.FRR {
		return nil
	}
	text, err := r.Run(ctx, "vtysh", "-c", "show running-config")
	if err != nil {
		return fmt.Errorf("running configuration of FRR: %w", err)
	}
	s[FRR] = bgpBlocks(text)
	return nil
}

// bgpBlocks are the "router bgp" blocks of a configuration, without separators.
func bgpBlocks(config string) []string {
	var lines []string
	inside := false
	for line := range strings.Lines(config) {
		line = strings.TrimRight(line, " \r\n")
		switch {
		case strings.HasPrefix(line, "router bgp "):
			inside = true
		case line != "" && !strings.HasPrefix(line, " ") && line != "!":
			inside = inside && line == "exit"
		}
		if inside && strings.Trim(line, " !") != "" {
			lines = append(lines, line)
		}
		if line == "exit" {
			inside = false
		}
	}
	return lines
}
