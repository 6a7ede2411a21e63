package client

import (
	"context"
	"errors"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/ovsdb/row"
)

// serverDatabase is what every ovsdb-server since 2.9 tells about itself
// (ovsdb-server(5)).
const serverDatabase = "_Server"

var (
	errUnconnected = errors.New("the server is not connected to its cluster or relay source: its rows may be stale")
	errFollower    = errors.New("the server is not the leader of its cluster")
)

// serverSchema is the part of _Server's schema that is needed, the same in every
// version.
func serverSchema() schema {
	return schema{"Database": {
		"name": scalar(typeString), "model": scalar(typeString),
		"connected": scalar(typeBoolean), "leader": scalar(typeBoolean),
	}}
}

// watchServer fails if the server is not fit to be asked for the database. When it
// ceases to be, the session ends. A server without _Server passes.
func (s *session) watchServer(ctx context.Context, database string, leaderOnly bool) error {
	columns := []string{"name", "model", "connected", "leader"}
	judge := func(c Change) error {
		for _, r := range c.Tables["Database"] {
			if row.String(r, "name") != database {
				continue
			}
			if err := fitness(r, leaderOnly); err != nil {
				return err
			}
		}
		return nil
	}
	known := serverSchema()
	m, err := newMonitor(serverDatabase, known, []Table{{Name: "Database", Columns: columns}}, judge)
	if err != nil {
		return err
	}
	err = s.monitor(ctx, s.timeout, m, known)
	var refused *requestError
	if errors.As(err, &refused) {
		delete(s.monitors, serverDatabase)
		return nil
	}
	return err
}

// fitness judges a row of _Server's Database table. A relay never leads.
func fitness(r libovsdb.Row, leaderOnly bool) error {
	switch {
	case !row.Bool(r, "connected"):
		return errUnconnected
	case leaderOnly && row.String(r, "model") == "clustered" && !row.Bool(r, "leader"):
		return errFollower
	}
	return nil
}
