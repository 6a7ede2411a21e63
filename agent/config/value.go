package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The parsers of option values. Their errors tell what is allowed, not the value.

func text(s string) (string, error) { return s, nil }

func filled(s string) (string, error) {
	if s == "" {
		return "", errors.New("must not be empty")
	}
	return s, nil
}

// boolean accepts the words of oslo.config in any case.
func boolean(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "1", "on", "yes":
		return true, nil
	case "false", "0", "off", "no":
		return false, nil
	}
	return false, errors.New("must be true, 1, on, yes or false, 0, off, no")
}

// choice accepts exactly the given words.
func choice(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		for _, w := range words {
			if s == w {
				return s, nil
			}
		}
		return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
	}
}

// anyCase is choice without regard to case.
func anyCase(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		for _, w := range words {
			if strings.EqualFold(s, w) {
				return w, nil
			}
		}
		return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
	}
}

func integer(s string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return 0, errors.New("must be a whole number")
	}
	return n, nil
}

func within[T uint16 | uint32](low, high T) func(string) (T, error) {
	return func(s string) (T, error) {
		n, err := integer(s)
		if err != nil {
			return 0, err
		}
		if n < int64(low) || n > int64(high) {
			return 0, fmt.Errorf("must be from %d to %d", low, high)
		}
		return T(n), nil
	}
}

// seconds is a time of at least one second; less would keep the agent busy for
// nothing (config.md C4).
func seconds(s string) (time.Duration, error) {
	const most = 1<<31 - 1
	n, err := integer(s)
	if err != nil {
		return 0, fmt.Errorf("%w of seconds", err)
	}
	if n < 1 || n > most {
		return 0, fmt.Errorf("must be from 1 to %d seconds", most)
	}
	return time.Duration(n) * time.Second, nil
}

// list splits at commas and drops the blanks around items; trailing commas add
// none.
func list(s string) ([]string, error) {
	s = strings.TrimRight(strings.TrimSpace(s), ",")
	if s == "" {
		return nil, nil
	}
	items := strings.Split(s, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items, nil
}

// listOf is a list whose items are parsed.
func listOf[T any](item func(string) (T, error)) func(string) ([]T, error) {
	return func(s string) ([]T, error) {
		texts, err := list(s)
		if err != nil {
			return nil, err
		}
		var items []T
		for _, t := range texts {
			v, err := item(t)
			if err != nil {
				return nil, fmt.Errorf("item %q %w", t, err)
			}
			items = append(items, v)
		}
		return items, nil
	}
}

func address(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, errors.New("must be an IPv4 or IPv6 address")
	}
	return a, nil
}

func prefix(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, errors.New("must be an IPv4 or IPv6 prefix, such as 192.168.0.0/16")
	}
	return p, nil
}

// routerID is a BGP identifier (RFC 4271 §4.2) in the notation that FRR takes.
func routerID(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is4() || a.IsUnspecified() {
		return netip.Addr{}, errors.New("must be an IPv4 address other than 0.0.0.0")
	}
	return a, nil
}

// asNumber accepts the notations asplain and asdot of RFC 5396. AS 0 is reserved
// (RFC 7607).
func asNumber(s string) (uint32, error) {
	wrong := errors.New("must be an AS number from 1 to 4294967295, or as HIGH.LOW")
	high, low, dotted := strings.Cut(s, ".")
	bits := 32
	if dotted {
		bits = 16
	} else {
		high, low = "0", high
	}
	upper, errHigh := strconv.ParseUint(high, 10, 16)
	lower, errLow := strconv.ParseUint(low, 10, bits)
	as := uint32(upper<<16 | lower)
	if errHigh != nil || errLow != nil || as == 0 {
		return 0, wrong
	}
	return as, nil
}

// device is a network device's name as the kernel allows it: at most 15 bytes
// (IFNAMSIZ), no slash, colon or blank.
func device(s string) (string, error) {
	const longest = 15
	switch {
	case s == "" || s == "." || s == "..":
		return "", errors.New("must be the name of a network device")
	case len(s) > longest:
		return "", fmt.Errorf("must be at most %d characters, has %d", longest, len(s))
	case strings.ContainsAny(s, "/:") || strings.ContainsFunc(s, unicode.IsSpace):
		return "", errors.New("must have no slash, colon or blank: it is the name of a network device")
	}
	return s, nil
}

// routingTable is a table of the VRF's own. 253 to 255 are the kernel's default, main
// and local tables; table 0 means none.
func routingTable(s string) (uint32, error) {
	n, err := within[uint32](1, 1<<32-1)(s)
	if err == nil && n >= 253 && n <= 255 {
		return 0, errors.New("must not be 253, 254 or 255, the kernel's tables default, main and local")
	}
	return n, err
}

// remote checks one remote in the notation of ovsdb(7).
func remote(s string) (string, error) {
	method, rest, _ := strings.Cut(s, ":")
	switch method {
	case "unix":
		if rest == "" {
			return "", errors.New("must be unix:FILE")
		}
		return s, nil
	case "tcp", "ssl":
		host, port, err := net.SplitHostPort(rest)
		if err == nil && host != "" {
			if _, err := within[uint16](1, 65535)(port); err == nil {
				return s, nil
			}
		}
		return "", fmt.Errorf("must be %s:IP:PORT, an IPv6 address in brackets", method)
	}
	return "", errors.New("must be tcp:IP:PORT, ssl:IP:PORT or unix:FILE")
}

// remotes is a list of remotes. A part without colon belongs to the path before it,
// since a path may have commas.
func remotes(s string) ([]string, error) {
	parts, err := list(s)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, part := range parts {
		if len(found) > 0 && !strings.Contains(part, ":") {
			found[len(found)-1] += "," + part
			continue
		}
		found = append(found, part)
	}
	if len(found) == 0 {
		return nil, errors.New("must be tcp:IP:PORT, ssl:IP:PORT or unix:FILE, or several with commas")
	}
	for _, f := range found {
		if _, err := remote(f); err != nil {
			return nil, fmt.Errorf("remote %q %w", f, err)
		}
	}
	return found, nil
}

// socketPath is where a unix socket can be: sun_path of unix(7) holds 107 bytes.
func socketPath(s string) (string, error) {
	const longest = 107
	switch {
	case !filepath.IsAbs(s):
		return "", errors.New("must be an absolute path")
	case len(s) > longest:
		return "", fmt.Errorf("must be at most %d bytes, has %d", longest, len(s))
	}
	return s, nil
}
