package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// Client asks a running agent.
type Client struct {
	path string
	http *http.Client
}

// Dial returns a client of the agent that serves the socket at path; it connects
// anew for each request.
func Dial(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &Client{path, &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Report implements [Agent].
func (c *Client) Report(ctx context.Context) (Report, error) {
	var r Report
	err := c.ask(ctx, http.MethodGet, "/status", &r)
	return r, err
}

// Sync implements [Agent].
func (c *Client) Sync(ctx context.Context) (SyncResult, error) {
	var r SyncResult
	err := c.ask(ctx, http.MethodPost, "/sync", &r)
	return r, err
}

// Settled implements [Agent].
func (c *Client) Settled(ctx context.Context) error {
	return c.ask(ctx, http.MethodGet, "/settled", &struct{}{})
}

// Confirm implements [Agent].
func (c *Client) Confirm(ctx context.Context) error {
	return c.ask(ctx, http.MethodPost, "/confirm", &struct{}{})
}

func (c *Client) ask(ctx context.Context, method, route string, value any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://agent"+route, nil)
	if err != nil {
		return fmt.Errorf("agent at %s: %w", c.path, err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("agent at %s: %w", c.path, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		var f failure
		if err := json.NewDecoder(response.Body).Decode(&f); err != nil {
			return fmt.Errorf("agent at %s: %s", c.path, response.Status)
		}
		return errors.New(f.Error)
	}
	if err := json.NewDecoder(response.Body).Decode(value); err != nil {
		return fmt.Errorf("agent at %s: answer to %s: %w", c.path, route, err)
	}
	return nil
}
