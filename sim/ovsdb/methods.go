package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
)

var (
	errUnknownMethod  = errors.New("unknown method")
	errUnknownMonitor = errors.New("unknown monitor")
	errCanceled       = errors.New("canceled")
)

// dispatch answers one request.
func (c *conn) dispatch(m *message) {
	var err error
	switch *m.Method {
	case "list_dbs":
		c.reply(m.ID, c.server.databaseNames())
	case "get_schema":
		err = c.getSchema(m)
	case "get_server_id":
		c.reply(m.ID, string(c.server.serverID()))
	case "echo":
		c.reply(m.ID, m.Params)
	case "transact":
		err = c.transact(m)
	case "cancel":
		c.cancelTransaction(m)
	case "monitor":
		err = c.monitor(m, protocolUpdate)
	case "monitor_cond":
		err = c.monitor(m, protocolUpdate2)
	case "monitor_cond_since":
		err = c.monitor(m, protocolUpdate3)
	case "monitor_cond_change":
		err = c.changeMonitor(m)
	case "monitor_cancel":
		err = c.cancelMonitor(m)
	case "lock", "steal":
		err = c.lock(m)
	case "unlock":
		err = c.unlock(m)
	case "set_db_change_aware":
		err = c.setDBChangeAware(m)
	default:
		err = errUnknownMethod
	}
	if err != nil {
		c.fail(m.ID, err)
	}
}

// params decodes the parameters into values, without rounding numbers.
func (m *message) params() ([]any, *dbError) {
	values := make([]any, len(m.Params))
	for i, raw := range m.Params {
		if err := decodeNumbers(raw, &values[i]); err != nil {
			return nil, syntaxError(string(raw), "%s", err)
		}
	}
	return values, nil
}

// database finds the database that the first parameter names.
func (c *conn) database(m *message) (*database, error) {
	var name string
	if len(m.Params) == 0 || json.Unmarshal(m.Params[0], &name) != nil {
		return nil, syntaxError(m.Params, "%s request params must begin with <db-name>", *m.Method)
	}
	db, ok := c.server.databases[name]
	if !ok {
		e := syntaxError(m.Params, "%s request specifies unknown database %s", *m.Method, name)
		e.tag = "unknown database"
		return nil, e
	}
	return db, nil
}

func (c *conn) getSchema(m *message) error {
	db, err := c.database(m)
	if err != nil {
		return err
	}
	c.reply(m.ID, json.RawMessage(db.store.schema.text))
	return nil
}

func (c *conn) setDBChangeAware(m *message) error {
	var aware bool
	if len(m.Params) != 1 || json.Unmarshal(m.Params[0], &aware) != nil {
		return syntaxError(m.Params, "set_db_change_aware: true or false parameter expected")
	}
	c.reply(m.ID, map[string]any{})
	return nil
}

// transact answers a transaction before the next request is read, except that
// one that waits for a change stays behind: this connection may make it.
func (c *conn) transact(m *message) error {
	db, err := c.database(m)
	if err != nil {
		return err
	}
	id := m.ID
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	c.waiting[string(id)] = cancel
	c.mu.Unlock()
	settled := make(chan struct{}, 1) // answered, or blocked
	settle := func() {
		select {
		case settled <- struct{}{}:
		default:
		}
	}
	c.blocked.Go(func() {
		defer cancel()
		err := db.transact(ctx, request{
			ops:     m.Params[1:],
			holds:   func(lock string) bool { return c.server.locks.owns(c, lock) },
			reply:   func(results []any) { c.reply(id, results) },
			blocked: settle,
		})
		c.mu.Lock()
		delete(c.waiting, string(id))
		c.mu.Unlock()
		if err != nil {
			c.fail(id, errCanceled)
		}
		settle()
	})
	<-settled
	return nil
}

// cancelTransaction ends a blocked transaction (RFC 7047 section 4.1.4); the
// transaction's own reply is the answer.
func (c *conn) cancelTransaction(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(m.Params) == 1 {
		if cancel, ok := c.waiting[string(m.Params[0])]; ok {
			cancel()
		}
	}
}

func (c *conn) monitor(m *message, protocol int) error {
	db, err := c.database(m)
	if err != nil {
		return err
	}
	params, dbErr := m.params()
	if dbErr != nil {
		return dbErr
	}
	if want := map[bool]int{true: 4, false: 3}[protocol == protocolUpdate3]; len(params) != want {
		return syntaxError(params, "%s: %d parameters expected", *m.Method, want)
	}
	key := string(m.Params[1])
	if _, dup := c.monitors[key]; dup {
		return syntaxError(params[1], "duplicate monitor ID")
	}
	tables, dbErr := parseMonitor(db.store.schema, protocol, params[2])
	if dbErr != nil {
		return dbErr
	}
	mon := &monitor{id: params[1], protocol: protocol, tables: tables, send: c.notify}
	c.monitors[key] = &subscription{mon, db}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.monitors = append(db.monitors, mon)
	if protocol != protocolUpdate3 {
		c.reply(m.ID, mon.initial(db.store))
		return nil
	}
	last, _ := params[3].(string)
	if net, known := db.since(uuidAtom(last)); known {
		c.reply(m.ID, []any{true, string(db.last), mon.updates(net)})
	} else {
		c.reply(m.ID, []any{false, string(db.last), mon.initial(db.store)})
	}
	return nil
}

// changeMonitor answers monitor_cond_change: the rows that come into view or
// leave it are sent first, the reply follows.
func (c *conn) changeMonitor(m *message) error {
	params, dbErr := m.params()
	if dbErr != nil {
		return dbErr
	}
	if len(params) != 3 {
		return syntaxError(params, "invalid parameter")
	}
	s, ok := c.monitors[string(m.Params[0])]
	if !ok || s.monitor.protocol == protocolUpdate {
		return syntaxError(params[0], "unknown monitor session")
	}
	if _, dup := c.monitors[string(m.Params[1])]; dup && string(m.Params[0]) != string(m.Params[1]) {
		return syntaxError(params[1], "duplicate monitor ID")
	}
	conditions, dbErr := parseConditionChange(s.monitor, params[2])
	if dbErr != nil {
		return dbErr
	}
	delete(c.monitors, string(m.Params[0]))
	c.monitors[string(m.Params[1])] = s
	s.database.mu.Lock()
	defer s.database.mu.Unlock()
	s.monitor.id = params[1]
	if u := s.monitor.changeConditions(s.database.store, conditions); len(u) > 0 {
		s.monitor.sendUpdates(s.database.last, u)
	}
	c.reply(m.ID, map[string]any{})
	return nil
}

func parseConditionChange(mon *monitor, v any) (map[string][]clause, *dbError) {
	requests, ok := v.(map[string]any)
	if !ok {
		return nil, syntaxError(v, "monitor-cond-change: object expected")
	}
	out := map[string][]clause{}
	for name, request := range requests {
		tm, ok := mon.tables[name]
		if !ok {
			return nil, syntaxError(nil, "no table named %s", name)
		}
		list, ok := request.([]any)
		if !ok {
			return nil, syntaxError(nil, "table %s no monitor-cond-change JSON array", name)
		}
		out[name] = nil
		for _, item := range list {
			o := &operation{n: 1, total: 1}
			if o.source, ok = item.(map[string]any); !ok {
				return nil, syntaxError(item, "Object expected.")
			}
			if where, given := o.optional("where"); given {
				clauses, err := tm.table.parseCondition(where, nil)
				if err != nil {
					return nil, err
				}
				out[name] = append(out[name], clauses...)
			}
		}
	}
	return out, nil
}

func (c *conn) cancelMonitor(m *message) error {
	if len(m.Params) != 1 {
		return errUnknownMonitor
	}
	s, ok := c.monitors[string(m.Params[0])]
	if !ok {
		return errUnknownMonitor
	}
	s.database.removeMonitor(s.monitor)
	delete(c.monitors, string(m.Params[0]))
	c.reply(m.ID, map[string]any{})
	return nil
}

// idForm is an <id> (RFC 7047 section 3.1).
var idForm = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func (m *message) lockName() (string, error) {
	var name string
	if len(m.Params) != 1 || json.Unmarshal(m.Params[0], &name) != nil || !idForm.MatchString(name) {
		return "", syntaxError(m.Params, "%s request params must be <id>", *m.Method)
	}
	return name, nil
}

func (c *conn) lock(m *message) error {
	name, err := m.lockName()
	if err != nil {
		return err
	}
	if dbErr := c.server.locks.acquire(c, name, *m.Method == "steal", func(owned bool) {
		c.reply(m.ID, map[string]any{"locked": owned})
	}); dbErr != nil {
		return dbErr
	}
	return nil
}

func (c *conn) unlock(m *message) error {
	name, err := m.lockName()
	if err != nil {
		return err
	}
	if dbErr := c.server.locks.unlock(c, name); dbErr != nil {
		return dbErr
	}
	c.reply(m.ID, map[string]any{})
	return nil
}
