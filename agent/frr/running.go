package frr

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Running is what a running configuration says of leaks.
type Running struct {
	Default Instance
	VRFs    map[string]Instance
}

// Instance is a BGP instance.
type Instance struct {
	AS       uint32            // 0: there is no such instance
	RouterID netip.Addr        // of the line "bgp router-id"; zero without one
	Families map[string]Family // by name, such as "ipv4 unicast"
}

// Family is what an instance says of one address family.
type Family struct {
	Imports      []string // VRFs of "import vrf" lines
	Redistribute []string // sources of "redistribute" lines, without their options
}

// ParseRunning reads the answer to "show running-config", of bgpd or of all
// daemons. What has nothing to do with leaks is passed over. An error means that
// a line that matters is not understood.
func ParseRunning(text string) (Running, error) {
	p := parser{running: Running{VRFs: map[string]Instance{}}}
	for line := range strings.Lines(text) {
		if err := p.line(strings.TrimRight(line, " \r\n")); err != nil {
			return Running{}, fmt.Errorf("running configuration, line %q: %w", strings.TrimSpace(line), err)
		}
	}
	p.leave()
	return p.running, nil
}

// parser is the place in a running configuration.
type parser struct {
	running Running
	vrf     string    // of the present instance, "" for the default one
	present *Instance // nil outside of an instance of interest
	family  string    // "" outside of an address family
}

func (p *parser) line(line string) error {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "!" {
		return nil
	}
	if line[0] != ' ' {
		p.leave()
		if len(words) >= 3 && words[0] == "router" && words[1] == "bgp" {
			return p.enter(words[2:])
		}
		return nil
	}
	if p.present == nil {
		return nil
	}
	switch {
	case words[0] == "address-family":
		p.family = strings.Join(words[1:], " ")
	case words[0] == "exit-address-family":
		p.family = ""
	case p.family == "":
		return p.setting(words)
	default:
		p.familyLine(words)
	}
	return nil
}

// enter begins an instance: "router bgp AS [vrf NAME | view NAME] [as-notation …]".
// Views do not install routes and are of no interest.
func (p *parser) enter(words []string) error {
	as, err := parseAS(words[0])
	if err != nil {
		return err
	}
	p.vrf = ""
	if len(words) >= 3 && words[1] == "view" {
		return nil
	}
	if len(words) >= 3 && words[1] == "vrf" && words[2] != "default" {
		p.vrf = words[2]
	}
	p.present = &Instance{AS: as, Families: map[string]Family{}}
	return nil
}

func (p *parser) leave() {
	if p.present == nil {
		return
	}
	if p.vrf == "" {
		p.running.Default = *p.present
	} else {
		p.running.VRFs[p.vrf] = *p.present
	}
	p.present, p.family = nil, ""
}

func (p *parser) setting(words []string) error {
	if len(words) != 3 || words[0] != "bgp" || words[1] != "router-id" {
		return nil
	}
	id, err := netip.ParseAddr(words[2])
	p.present.RouterID = id
	return err
}

func (p *parser) familyLine(words []string) {
	family := p.present.Families[p.family]
	switch {
	case len(words) == 3 && words[0] == "import" && words[1] == "vrf": // "import vrf route-map NAME" has four
		family.Imports = append(family.Imports, words[2])
	case len(words) >= 2 && words[0] == "redistribute":
		family.Redistribute = append(family.Redistribute, words[1])
	default:
		return
	}
	p.present.Families[p.family] = family
}

// parseAS reads an AS number as asplain or, as later versions of FRR may write
// it, asdot (RFC 5396).
func parseAS(text string) (uint32, error) {
	high, low, dotted := strings.Cut(text, ".")
	if !dotted {
		as, err := strconv.ParseUint(text, 10, 32)
		return uint32(as), err
	}
	h, err := strconv.ParseUint(high, 10, 16)
	if err != nil {
		return 0, err
	}
	l, err := strconv.ParseUint(low, 10, 16)
	return uint32(h<<16 | l), err
}
