package ovsdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// Real is a Server that is an ovsdb-server process with a database file.
type Real struct {
	schema   Schema
	file     string
	endpoint string
	dir      string
	log      *slog.Logger

	mu      sync.Mutex
	process *process   // nil while stopped
	client  *rpcClient // nil until the first transaction
}

// NewReal creates a database from an .ovsschema file and starts an
// ovsdb-server for it. dir is for its database, log and control socket, and
// must exist. listen is as in NewMemory. ctx bounds the start only.
func NewReal(ctx context.Context, schemaPath, listen, dir string, log *slog.Logger) (*Real, error) {
	schema, err := LoadSchema(schemaPath)
	if err != nil {
		return nil, fmt.Errorf("ovsdb-server: %w", err)
	}
	r := &Real{schema: schema, endpoint: listen, dir: dir, file: filepath.Join(dir, schema.Name()+".db"),
		log: log.With("server", "ovsdb-server", "database", schema.Name())}
	if err := run(ctx, "ovsdb-tool", "create", r.file, schemaPath); err != nil {
		return nil, fmt.Errorf("create database %s: %w", schema.Name(), err)
	}
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Endpoint implements Server.
func (r *Real) Endpoint() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endpoint
}

// Kind implements Server.
func (r *Real) Kind() string { return "real" }

// Schema implements Server.
func (r *Real) Schema() Schema { return r.schema }

// Transact implements Server.
func (r *Real) Transact(ctx context.Context, ops ...ovsdb.Operation) ([]ovsdb.OperationResult, error) {
	raw, err := encodeOperations(ops)
	if err != nil {
		return nil, err
	}
	c, err := r.connection(ctx)
	if err != nil {
		return nil, err
	}
	params := []any{r.schema.Name()}
	for _, op := range raw {
		params = append(params, op)
	}
	reply, err := c.call(ctx, "transact", params...)
	if err != nil {
		return nil, err
	}
	return decodeResults(reply, ops)
}

func (r *Real) connection(ctx context.Context) (*rpcClient, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return nil, errStopped
	}
	if r.client != nil && r.client.alive() {
		return r.client, nil
	}
	c, err := dialRPC(ctx, r.endpoint, nil)
	if err != nil {
		return nil, err
	}
	r.client = c
	return c, nil
}

// Restart implements Server.
func (r *Real) Restart(ctx context.Context, whileDown func()) error {
	if err := r.Stop(); err != nil {
		return err
	}
	if whileDown != nil {
		whileDown()
	}
	return r.start(ctx)
}

// Stop implements Server.
func (r *Real) Stop() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return errStopped
	}
	err := r.process.stop()
	r.process = nil
	if r.client != nil {
		r.client.close()
		r.client = nil
	}
	return err
}

func (r *Real) start(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	remote, err := passiveRemote(r.endpoint)
	if err != nil {
		return err
	}
	control := filepath.Join(r.dir, r.schema.Name()+".ctl")
	if err := os.Remove(control); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("start ovsdb-server: %w", err)
	}
	p, err := startProcess(ctx, filepath.Join(r.dir, r.schema.Name()+".log"), r.log,
		"ovsdb-server", "--remote="+remote, "--unixctl="+control, "--no-chdir", "-vconsole:info", r.file)
	if err != nil {
		return fmt.Errorf("start ovsdb-server: %w", err)
	}
	if r.endpoint, err = p.listening(ctx, r.endpoint); err != nil {
		return errors.Join(fmt.Errorf("start ovsdb-server: %w", err), p.stop())
	}
	r.process = p
	return nil
}
