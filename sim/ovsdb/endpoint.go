package ovsdb

import (
	"fmt"
	"net"
	"os"
	"strings"
)

// splitEndpoint takes apart "unix:PATH" or "tcp:HOST:PORT", the forms in which
// OVS programs and libovsdb name a server to connect to (ovsdb(7)).
func splitEndpoint(endpoint string) (network, address string, err error) {
	network, address, ok := strings.Cut(endpoint, ":")
	if !ok || address == "" || (network != "unix" && network != "tcp") {
		return "", "", fmt.Errorf("endpoint %q is neither unix:PATH nor tcp:HOST:PORT", endpoint)
	}
	return network, address, nil
}

// listenOn opens a listener and returns the endpoint to connect to: with tcp
// and port 0 the port that was given.
func listenOn(endpoint string) (net.Listener, string, error) {
	network, address, err := splitEndpoint(endpoint)
	if err != nil {
		return nil, "", err
	}
	if network == "unix" {
		if err := os.Remove(address); err != nil && !os.IsNotExist(err) {
			return nil, "", fmt.Errorf("remove stale socket: %w", err)
		}
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, "", fmt.Errorf("listen on %s: %w", endpoint, err)
	}
	return l, network + ":" + l.Addr().String(), nil
}
