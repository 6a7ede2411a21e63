package agent

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/kernel"
	"ovn-bgp-agent/agent/node"
	"ovn-bgp-agent/agent/ovsdb"
	"ovn-bgp-agent/agent/ovsdb/client"
	"ovn-bgp-agent/agent/wiring"
)

// graceTime is how long an announced prefix stays announced while something that
// its wiring needs is broken and being repaired.
const graceTime = 5 * time.Second

// Retries of failed steps start at minRetry and double up to maxRetry.
const (
	minRetry = 100 * time.Millisecond
	maxRetry = 5 * time.Second
)

// core is the agent's state, owned by one goroutine: rows in, steps out.
type core struct {
	settings Settings
	parts    Parts
	log      *slog.Logger
	now      func() time.Time

	store   *ovsdb.Store
	engine  *exposure.Engine
	touched []ovsdb.Dep

	facts   node.Facts
	layout  node.Layout
	desired node.Desired
	actual  node.State
	known   map[node.Key]struct{} // objects that this process has made or found as wanted

	entries map[node.Owner]*entry
	ports   map[string][]node.Owner // port row → owners of its decisions
	devices map[string]time.Time    // when the agent last changed a device
	broken  map[node.Owner]struct{} // owners of entries that are broken
	failed  map[node.Key]failure    // objects whose last step failed
	dirty   map[node.Key]struct{}   // objects to be compared again

	syncCause  string                  // a full sync is due, for this reason
	syncAfter  time.Time               // not before, since the last try failed
	replan     bool                    // the layout must be made again
	rewire     map[node.Owner]struct{} // owners to be wired anew
	rewired    map[node.Owner]struct{} // owners wired anew, to be assessed
	guard      guard
	waiters    []chan struct{}
	identity   *exposure.Identity      // nil before the local database is known
	identified func(exposure.Identity) // told when the identity changes
	problems   *problems
	syncs      syncRecord
	retry      time.Duration
	retryAt    time.Time // when failed steps are tried again; zero for never
}

// entry is a decision and what has become of it on the node.
type entry struct {
	port     string // UUID of the port's row: a row made anew has the same owner
	decision exposure.Decision
	reason   exposure.Reason // why it is not wired although decided
	since    time.Time       // of the present state
	state    string
	why      string    // the state's reason
	broken   time.Time // since when something that it needs is broken; zero if nothing is
	wired    bool      // its wants are in the desired state
	withheld bool      // wired but not announced: repair failed for too long
}

// failure is a step that failed and will be tried again.
type failure struct {
	step node.Step
	err  error
}

func newCore(s Settings, p Parts, log *slog.Logger) *core {
	store := ovsdb.NewStore()
	return &core{
		settings: s, parts: p, log: log, now: time.Now,
		store: store, engine: exposure.NewEngine(p.Driver, store),
		actual: node.State{}, known: map[node.Key]struct{}{},
		entries: map[node.Owner]*entry{}, ports: map[string][]node.Owner{}, broken: map[node.Owner]struct{}{}, devices: map[string]time.Time{},
		failed: map[node.Key]failure{}, dirty: map[node.Key]struct{}{}, rewire: map[node.Owner]struct{}{}, rewired: map[node.Owner]struct{}{},
		guard: guard{enabled: s.MassWithdrawGuard}, problems: newProblems(log),
		retry: minRetry,
	}
}

// change takes one change of a database. A complete download makes a full sync
// due, the first as any other: rows may have gone meanwhile.
func (c *core) change(change client.Change) {
	again := c.store.Complete(change.Database)
	c.touched = append(c.touched, c.store.Apply(change)...)
	if change.Database == ovsdb.OpenVSwitch {
		c.identify()
	}
	if !change.Complete {
		return
	}
	c.reportAbsent(change)
	if again {
		c.log.Info("Connection to OVSDB established, doing a full sync", "database", change.Database)
	}
	if c.ready() {
		c.guard.arm()
		c.requestSync("download of " + change.Database)
	}
}

// identify learns from the local database who this node is.
func (c *core) identify() {
	id := exposure.NodeIdentity(c.store.View())
	if c.identity != nil && id == *c.identity {
		return
	}
	c.identity = &id
	name := id.Hostname
	if c.parts.Driver.Database == ovsdb.Southbound {
		name = id.SystemID
	}
	c.log.Info("Loaded chassis "+name+".", "hostname", id.Hostname, "system-id", id.SystemID)
	c.identified(id)
}

func (c *core) reportAbsent(change client.Change) {
	for table, columns := range change.Absent {
		c.log.Warn("the database's schema lacks what the agent monitors", "database", change.Database, "table", table, "columns", columns)
	}
}

// ready: every database has been downloaded; before that nothing is judged.
func (c *core) ready() bool {
	return c.store.Complete(ovsdb.OpenVSwitch) && c.store.Complete(c.parts.Driver.Database)
}

func (c *core) requestSync(cause string) {
	if c.syncCause == "" {
		c.syncCause = cause
	}
}

// work brings the node in line with everything taken in so far.
func (c *core) work(ctx context.Context) {
	if !c.ready() {
		return
	}
	c.derive()
	if c.syncCause != "" && !c.now().Before(c.syncAfter) {
		c.sync(ctx)
	}
	if c.syncs.count == 0 {
		return
	}
	for {
		if c.replan {
			c.plan()
		}
		c.wireDirty()
		keys := c.takeDirty()
		if len(keys) == 0 && len(c.rewired) == 0 {
			return
		}
		c.reconcile(ctx, keys)
	}
}

// derive brings the decisions up to date with the rows.
func (c *core) derive() {
	touched := c.touched
	c.touched = nil
	bridges := c.mappedBridges()
	ports, base := c.engine.Update(touched)
	if base {
		c.replan = true
		if !slices.Equal(bridges, c.mappedBridges()) {
			c.requestSync("ovn-bridge-mappings changed") // nothing was read of other bridges
		}
	}
	for _, port := range ports {
		c.decide(port)
	}
}

// decide takes the new decisions about a port in place of the old ones.
func (c *core) decide(port string) {
	decisions := c.engine.Port(port)
	owners := make([]node.Owner, 0, len(decisions))
	kept := map[node.Owner]bool{}
	for _, d := range decisions {
		owners = append(owners, d.Owner)
		kept[d.Owner] = true
		e := c.entries[d.Owner]
		if e == nil {
			e = &entry{since: c.now()}
			c.entries[d.Owner] = e
		}
		e.port, e.decision = port, d
		c.rewire[d.Owner] = struct{}{}
	}
	for _, owner := range c.ports[port] {
		if e := c.entries[owner]; !kept[owner] && e != nil && e.port == port {
			c.log.Info("no longer to be exposed", "owner", string(owner), "state", e.state)
			delete(c.entries, owner)
			c.rewire[owner] = struct{}{}
		}
	}
	if len(owners) == 0 {
		delete(c.ports, port)
	} else {
		c.ports[port] = owners
	}
}

// sync reads the node anew and compares everything (the safety net; it should
// find nothing).
func (c *core) sync(ctx context.Context) {
	started := c.now()
	cause := c.syncCause
	c.syncCause = ""
	c.log.Info("Running reconciliation loop to ensure routes/rules are in place.", "cause", cause)
	c.rederive()
	if err := c.read(ctx); err != nil {
		c.problems.set("sync", "Unexpected exception while running the sync: "+err.Error())
		c.requestSync(cause)
		c.syncAfter = c.now().Add(c.backOff())
		return
	}
	c.problems.clear("sync")
	c.plan()
	c.wireDirty()
	c.dirty = map[node.Key]struct{}{}
	c.warnLeftovers()
	results := c.reconcile(ctx, node.AllKeys(c.actual, &c.desired))
	c.guard.disarm()
	c.syncs.done(cause, started, c.now().Sub(started), results)
	c.log.Info("reconciliation done", "cause", cause, "steps", len(results), "duration", c.now().Sub(started))
}

// warnLeftovers names the addresses that a sync is about to withdraw.
func (c *core) warnLeftovers() {
	var leftovers []string
	for key := range c.actual {
		if _, wanted := c.desired.Value(key); !wanted && key.Kind() == node.KindAnnouncement {
			leftovers = append(leftovers, key.Subject().String())
		}
	}
	if len(leftovers) > 0 {
		slices.Sort(leftovers)
		c.log.Warn(fmt.Sprintf("Removing IPs %v from %s as they are not expected to be exposed.", leftovers, c.settings.Names.BGPNIC))
	}
}

// rederive makes every decision again from scratch.
func (c *core) rederive() {
	c.engine = exposure.NewEngine(c.parts.Driver, c.store)
	seen := map[string]bool{}
	ports, _ := c.engine.Update(c.store.Rows(c.parts.Driver.PortTable))
	for _, port := range ports {
		seen[port] = true
		c.decide(port)
	}
	for port := range c.ports {
		if !seen[port] {
			c.decide(port)
		}
	}
	c.replan = true
}

// read takes the node's actual state and facts.
func (c *core) read(ctx context.Context) error {
	base, bridges := c.engine.Base(), c.mappedBridges()
	state, facts, err := c.parts.Kernel.Read(ctx, kernel.Scope{
		BGPNIC: c.settings.Names.BGPNIC, BGPVRF: c.settings.Names.BGPVRF, BGPVRFTable: c.settings.Names.VRFTable,
		Bridges: bridges, NamedTables: base.Bridges, Sysctls: wiring.Sysctls(base),
	})
	if err != nil {
		return err
	}
	flows, failed := c.parts.Switch.Read(ctx, present(bridges, facts))
	for key, actions := range flows {
		state[key] = actions
	}
	c.problems.replace("flows", unreadable(failed))
	c.facts, c.actual = facts, state
	return nil
}

// mappedBridges are the bridges of ovn-bridge-mappings, each once.
func (c *core) mappedBridges() []string {
	var bridges []string
	for _, m := range c.engine.Base().Mappings {
		if !slices.Contains(bridges, m.Bridge) {
			bridges = append(bridges, m.Bridge)
		}
	}
	return bridges
}

// present are the bridges that have a device.
func present(bridges []string, facts node.Facts) []string {
	return slices.DeleteFunc(slices.Clone(bridges), func(bridge string) bool {
		_, exists := facts.Links[bridge]
		return !exists
	})
}

func unreadable(bridges map[string]error) []wiring.Problem {
	var list []wiring.Problem
	for bridge, err := range bridges {
		list = append(list, wiring.Problem{Name: "flows of " + bridge, Text: err.Error()})
	}
	return list
}

// plan lays the node out again and wires the base; every exposure is wired anew,
// since it may use what has changed.
func (c *core) plan() {
	c.replan = false
	base := c.engine.Base()
	layout, found := c.parts.Plan(c.settings.Names, c.facts, base)
	c.layout = layout
	c.problems.replace("plan", found)
	c.want(wiring.BaseOwner, c.parts.Base(layout, base))
	for owner := range c.entries {
		c.rewire[owner] = struct{}{}
	}
}

func (c *core) want(owner node.Owner, wants []node.Want) {
	for _, key := range c.desired.Set(owner, wants) {
		c.dirty[key] = struct{}{}
	}
	for _, w := range wants {
		if _, failed := c.failed[w.Key]; failed {
			c.dirty[w.Key] = struct{}{} // what it shares with others must stand before it is announced
		}
	}
}

func (c *core) takeDirty() []node.Key {
	keys := make([]node.Key, 0, len(c.dirty))
	for key := range c.dirty {
		keys = append(keys, key)
	}
	c.dirty = map[node.Key]struct{}{}
	return keys
}
