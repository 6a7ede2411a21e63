package agent

import (
	"context"
	"slices"
	"strings"
	"sync"

	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/ovsdb"
	"ovn-bgp-agent/agent/ovsdb/client"
	"ovn-bgp-agent/agent/status"
)

// connections keeps the clients of the databases: Open_vSwitch from the start,
// the OVN database as soon as it is known where it is and who this node is.
type connections struct {
	agent *Agent
	group sync.WaitGroup

	mu      sync.Mutex
	local   *client.Client
	ovn     *client.Client
	stopOVN context.CancelFunc
	target  target // what ovn is connected to
}

// target is what the connection to the OVN database depends on.
type target struct {
	endpoints []string
	systemID  string
}

func newConnections(a *Agent) *connections { return &connections{agent: a} }

// open connects to the local Open_vSwitch database and follows it until the
// context ends.
func (l *connections) open(ctx context.Context) {
	local := l.client(ovsdb.OpenVSwitch, l.agent.settings.OVSEndpoints, "")
	l.mu.Lock()
	l.local = local
	l.mu.Unlock()
	l.follow(ctx, local)
}

func (l *connections) client(database string, endpoints []string, systemID string) *client.Client {
	s := l.agent.settings
	return client.New(client.Config{
		Database: database, Endpoints: endpoints, Tables: ovsdb.Monitor(database, systemID),
		TLS: s.TLS, Timeout: s.ConnectTimeout, Log: l.agent.log,
	})
}

func (l *connections) follow(ctx context.Context, c *client.Client) {
	err := c.Run(ctx, func(change client.Change) {
		l.agent.inbox.post(func(c *core) { c.change(change) })
	})
	if err != nil && ctx.Err() == nil {
		l.agent.log.Error("OVSDB connection ended", "error", err)
	}
}

// identify connects to the OVN database; anew when its remote or, for the
// Southbound database, this node's system-id has changed.
func (l *connections) identify(ctx context.Context, id exposure.Identity) {
	database := l.agent.parts.Driver.Database
	want := target{endpoints: l.agent.settings.OVNEndpoints}
	if len(want.endpoints) == 0 {
		want.endpoints = remotes(database, id)
	}
	if database == ovsdb.Southbound {
		want.systemID = id.SystemID
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(want.endpoints, l.target.endpoints) && want.systemID == l.target.systemID {
		return
	}
	if l.stopOVN != nil {
		l.stopOVN()
		l.stopOVN, l.ovn = nil, nil
	}
	l.target = want
	if missing := l.missing(want, database); missing != "" {
		l.agent.inbox.post(func(c *core) { c.problems.set("database", missing) })
		return
	}
	l.agent.inbox.post(func(c *core) { c.problems.clear("database") })
	ovn := l.client(database, want.endpoints, want.systemID)
	ovnCtx, stop := context.WithCancel(ctx)
	l.ovn, l.stopOVN = ovn, stop
	l.group.Go(func() { l.follow(ovnCtx, ovn) })
}

func (l *connections) missing(t target, database string) string {
	switch {
	case len(t.endpoints) == 0 && database == ovsdb.Southbound:
		return "no Southbound database: [ovn] ovn_sb_connection is unset and Open_vSwitch has no external_ids:ovn-remote"
	case len(t.endpoints) == 0:
		return "no Northbound database: [ovn] ovn_nb_connection is unset and Open_vSwitch has no external_ids:ovn-nb-remote"
	case database == ovsdb.Southbound && t.systemID == "":
		return "this node is unknown: Open_vSwitch has no external_ids:system-id"
	}
	return ""
}

func remotes(database string, id exposure.Identity) []string {
	text := id.NBRemote
	if database == ovsdb.Southbound {
		text = id.SBRemote
	}
	var endpoints []string
	for _, endpoint := range strings.Split(text, ",") {
		if endpoint = strings.TrimSpace(endpoint); endpoint != "" {
			endpoints = append(endpoints, endpoint)
		}
	}
	return endpoints
}

func (l *connections) wait() { l.group.Wait() }

// barrier returns when every change that the databases had made before has been
// handed to the core.
func (l *connections) barrier(ctx context.Context) error {
	l.mu.Lock()
	clients := []*client.Client{l.local, l.ovn}
	l.mu.Unlock()
	for _, c := range clients {
		if c == nil {
			continue
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
	}
	return nil
}

// report describes the connections.
func (l *connections) report() []status.Connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []status.Connection
	for _, c := range []struct {
		name     string
		database string
		client   *client.Client
	}{{"local", ovsdb.OpenVSwitch, l.local}, {"ovn", l.agent.parts.Driver.Database, l.ovn}} {
		entry := status.Connection{Name: c.name, Database: c.database, State: "not configured"}
		if c.client != nil {
			entry = describe(entry, c.client.State())
		}
		list = append(list, entry)
	}
	return list
}

func describe(entry status.Connection, s client.State) status.Connection {
	entry.Endpoint, entry.Since, entry.Reconnects = s.Endpoint, s.Since, s.Reconnects
	entry.State = "disconnected"
	if s.Connected {
		entry.State = "connected"
	}
	if s.Err != nil {
		entry.LastError = s.Err.Error()
	}
	return entry
}
