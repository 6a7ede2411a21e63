package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
)

// endpoint is where a server listens, in the notation of ovsdb(7), "Connection
// methods".
type endpoint struct {
	text    string
	network string // unix or tcp
	address string
	tls     bool
}

func parseEndpoint(text string) (endpoint, error) {
	method, address, _ := strings.Cut(text, ":")
	e := endpoint{text: text, network: "tcp", address: address, tls: method == "ssl"}
	switch method {
	case "unix":
		e.network = "unix"
		if address == "" {
			return endpoint{}, fmt.Errorf("endpoint %q: no path", text)
		}
		return e, nil
	case "tcp", "ssl":
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "" || port == "" {
			return endpoint{}, fmt.Errorf("endpoint %q: not %s:HOST:PORT", text, method)
		}
		return e, nil
	}
	return endpoint{}, fmt.Errorf("endpoint %q: its method is none of unix, tcp and ssl", text)
}

// dial connects, the TLS handshake included. The configuration is asked for each
// time, so that replaced certificates are used.
func (e endpoint) dial(ctx context.Context, config func() (*tls.Config, error)) (net.Conn, error) {
	var dialer net.Dialer
	if !e.tls {
		conn, err := dialer.DialContext(ctx, e.network, e.address)
		return conn, bare(err)
	}
	c, err := config()
	if err != nil {
		return nil, fmt.Errorf("TLS configuration: %w", err)
	}
	secure := tls.Dialer{NetDialer: &dialer, Config: c}
	conn, err := secure.DialContext(ctx, e.network, e.address)
	return conn, bare(err)
}

// bare strips an error of the addresses around it: the endpoint is told anyway,
// and the own port, different each time, would make equal errors look unequal.
func bare(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return fmt.Errorf("%s: %w", op.Op, op.Err)
	}
	return err
}
