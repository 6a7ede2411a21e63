package cloud

import (
	"context"
	"fmt"
	"sync"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/sim/ovsdb"
)

// VSwitch makes bridges and patch ports in an Open_vSwitch database that no
// ovs-vswitchd serves, so that a test controls every column of it.
type VSwitch struct {
	db ovsdb.Server

	mu      sync.Mutex
	ofports func(name string) []int
	next    map[string]int // per bridge, the last number given
}

// NewVSwitch takes an empty Open_vSwitch database and writes its one
// Open_vSwitch row with external_ids as given (system-id, hostname,
// ovn-bridge-mappings, …), and br-int.
func NewVSwitch(ctx context.Context, db ovsdb.Server, externalIDs map[string]string) (*VSwitch, error) {
	v := &VSwitch{db: db, next: map[string]int{}}
	_, err := db.Transact(ctx, ovsdb.Insert("Open_vSwitch", "", ovsdb.Row{"external_ids": externalIDs}))
	if err != nil {
		return nil, fmt.Errorf("new vswitch: %w", err)
	}
	return v, v.AddBridge(ctx, "br-int")
}

// Ofports sets which ofport column a new patch port gets: none (the column is
// empty, as before ovs-vswitchd has seen the port), one number, or −1 (it could
// not be made). nil restores the default: the bridge's next free number.
func (v *VSwitch) Ofports(choose func(interfaceName string) []int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ofports = choose
}

// SetOfport sets the ofport column of an interface; no number empties it.
func (v *VSwitch) SetOfport(ctx context.Context, interfaceName string, ofport ...int) error {
	results, err := v.db.Transact(ctx, ovsdb.Update("Interface", ovsdb.Row{"ofport": ofport}, ovsdb.Is("name", interfaceName)))
	if err == nil && results[0].Count != 1 {
		err = fmt.Errorf("%d interfaces of that name", results[0].Count)
	}
	if err != nil {
		return fmt.Errorf("set ofport of %s: %w", interfaceName, err)
	}
	return nil
}

// AddBridge adds a bridge with its internal port of the same name.
func (v *VSwitch) AddBridge(ctx context.Context, name string) error {
	ops := append(portOps(name, "", ovsdb.Row{"type": "internal", "ofport": 65534}, nil),
		ovsdb.Insert("Bridge", "bridge", ovsdb.Row{"name": name, "ports": portName("")}),
		ovsdb.Mutate("Open_vSwitch", "bridges", libovsdb.MutateOperationInsert, []ovsdb.NamedUUID{"bridge"}))
	if _, err := v.db.Transact(ctx, ops...); err != nil {
		return fmt.Errorf("add bridge %s: %w", name, err)
	}
	return nil
}

// Add implements PatchPorts.
func (v *VSwitch) Add(ctx context.Context, bridge, localnet string) error {
	provider, integration := PatchPortNames(localnet)
	ops := append([]libovsdb.Operation{bridgeExists(bridge)}, v.patchOps(bridge, provider, integration, localnet, "1")...)
	ops = append(ops, v.patchOps("br-int", integration, provider, localnet, "2")...)
	if _, err := v.db.Transact(ctx, ops...); err != nil {
		return fmt.Errorf("add %s: %w", provider, err)
	}
	return nil
}

// bridgeExists fails the transaction if there is no such bridge.
func bridgeExists(name string) libovsdb.Operation {
	now := 0
	return libovsdb.Operation{
		Op: libovsdb.OperationWait, Table: "Bridge", Where: []libovsdb.Condition{ovsdb.Is("name", name)},
		Columns: []string{"name"}, Until: "==", Rows: []libovsdb.Row{{"name": name}}, Timeout: &now,
	}
}

func (v *VSwitch) patchOps(bridge, name, peer, localnet, suffix string) []libovsdb.Operation {
	iface := ovsdb.Row{"type": "patch", "options": map[string]string{"peer": peer}, "ofport": v.ofport(bridge, name)}
	return append(portOps(name, suffix, iface, map[string]string{"ovn-localnet-port": localnet}),
		ovsdb.Mutate("Bridge", "ports", libovsdb.MutateOperationInsert, []ovsdb.NamedUUID{portName(suffix)}, ovsdb.Is("name", bridge)))
}

// Remove implements PatchPorts.
func (v *VSwitch) Remove(ctx context.Context, bridge, localnet string) error {
	provider, integration := PatchPortNames(localnet)
	results, err := v.db.Transact(ctx,
		ovsdb.Select("Port", []string{"_uuid"}, ovsdb.Is("name", provider)),
		ovsdb.Select("Port", []string{"_uuid"}, ovsdb.Is("name", integration)))
	if err == nil {
		_, err = v.db.Transact(ctx, removeFrom(bridge, results[0]), removeFrom("br-int", results[1]))
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", provider, err)
	}
	return nil
}

// removeFrom takes the selected ports off a bridge; the database then drops
// their rows.
func removeFrom(bridge string, selected libovsdb.OperationResult) libovsdb.Operation {
	ports := []ovsdb.UUID{}
	for _, r := range selected.Rows {
		ports = append(ports, ovsdb.UUID(ovsdb.Strings(r["_uuid"])[0]))
	}
	return ovsdb.Mutate("Bridge", "ports", libovsdb.MutateOperationDelete, ports, ovsdb.Is("name", bridge))
}

func (v *VSwitch) ofport(bridge, name string) []int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ofports != nil {
		return v.ofports(name)
	}
	v.next[bridge]++
	return []int{v.next[bridge]}
}

func portName(suffix string) ovsdb.NamedUUID { return ovsdb.NamedUUID("port" + suffix) }

// portOps inserts a Port with one Interface of the same name. suffix tells the
// ports of one transaction apart.
func portOps(name, suffix string, iface ovsdb.Row, externalIDs map[string]string) []libovsdb.Operation {
	iface["name"] = name
	ifaceName := ovsdb.NamedUUID("interface" + suffix)
	return []libovsdb.Operation{
		ovsdb.Insert("Interface", ifaceName, iface),
		ovsdb.Insert("Port", portName(suffix), ovsdb.Row{"name": name, "interfaces": ifaceName, "external_ids": externalIDs}),
	}
}
