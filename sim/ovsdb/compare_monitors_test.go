package ovsdb

// changeSteps is a life of rows in several tables that monitors watch.
func changeSteps() []step {
	ls, lsp := "Logical_Switch", "Logical_Switch_Port"
	return []step{
		nbTxn(ins(ls, 1, obj{"name": "n1", "external_ids": mapOf(kv("a", "1"), kv("b", "2"))}), insAs(lsp, 2, "p", obj{"name": "p1", "addresses": setOf("x", "y")}), mut(ls, list{}, list{"ports", "insert", named("p")})),
		nbTxn(upd(ls, obj{"name": "n2", "external_ids": mapOf(kv("a", "1"), kv("b", "3"), kv("c", "4"))})), nbTxn(mut(ls, list{}, list{"external_ids", "delete", "a"})),
		nbTxn(upd(lsp, obj{"up": false, "tag": 7})), nbTxn(upd(lsp, obj{"up": true, "tag": setOf()})), nbTxn(upd(lsp, obj{"up": setOf(), "addresses": setOf("y", "z")})),
		nbTxn(upd(lsp, obj{"up": setOf()})), nbTxn(ins(lsp, 3, obj{"name": "orphan"})), nbTxn(ins("DHCP_Options", 4, obj{"cidr": "10.0.0.0/24"}), upd(lsp, obj{"dhcpv4_options": uuidOf(4)})),
		nbTxn(del("DHCP_Options")), nbTxn(upd(ls, obj{"name": ""})), nbTxn(upd(lsp, obj{"name": "q"}), upd(lsp, obj{"name": "p1"})),
		nbTxn(ins(ls, 5, obj{"name": "x"}), upd(ls, obj{"name": "y"}, rowIs(5)), del(ls, rowIs(5))), nbTxn(ins(ls, 6, obj{"name": "x"}), upd(ls, obj{"name": "y"}, rowIs(6))),
		nbTxn(del(ls, rowIs(1))), nbTxn(del(ls)),
	}
}

func monitorCall(method, name string, requests obj) step {
	params := list{nb, name, requests}
	if method == "monitor_cond_since" {
		params = append(params, "00000000-0000-0000-0000-000000000000")
	}
	return watch(method, params...)
}

func monitorSteps(method string) []step {
	request := obj{
		"Logical_Switch":      obj{"columns": cols("name", "external_ids", "ports")},
		"Logical_Switch_Port": list{obj{"columns": cols("name", "up", "tag", "addresses", "dhcpv4_options")}},
	}
	steps := []step{
		nbTxn(ins("Logical_Switch", 90, obj{"name": "old", "ports": uuidOf(91)}), ins("Logical_Switch_Port", 91, obj{"name": "oldport"})),
		monitorCall(method, "m", request), monitorCall(method, "m", request), monitorCall(method, "all", obj{"Logical_Router": obj{}, "Logical_Switch": obj{}}),
		monitorCall(method, "bad", obj{"Logical_Switch": obj{"columns": cols("name", "name")}}),
		monitorCall(method, "bad", obj{"Logical_Switch": list{obj{"columns": cols("name")}, obj{"columns": cols("name")}}}), monitorCall(method, "bad", obj{"Logical_Switch": 5}),
	}
	steps = append(steps, changeSteps()...)
	return append(steps, nbTxn(ins("Logical_Router", 92, obj{"name": "r"})), nbTxn(upd("Logical_Router", obj{"enabled": true})),
		watch("monitor_cancel", "m"), watch("monitor_cancel", "m"), nbTxn(ins("Logical_Switch", 93, obj{"name": "unseen by m"})))
}

func conditionMonitorSteps() []step {
	lsp := obj{"columns": cols("name", "up", "addresses"), "where": list{list{"up", "==", true}, list{"addresses", "includes", "z"}}}
	return append([]step{
		monitorCall("monitor_cond", "m", obj{"Logical_Switch_Port": lsp, "Logical_Switch": list{obj{"columns": cols("name"), "where": list{list{"name", "!=", "n2"}}}}}),
		monitorCall("monitor_cond_since", "empty", obj{"Logical_Switch": obj{"columns": cols("name"), "where": list{}}}),
		monitorCall("monitor_cond", "none", obj{"Logical_Switch": obj{"columns": cols("name"), "where": list{false}}}),
		monitorCall("monitor_cond", "true", obj{"Logical_Switch": obj{"columns": cols("name"), "where": list{true, list{"name", "==", "q"}}}}),
		monitorCall("monitor_cond", "unmonitored column", obj{"Logical_Switch": obj{"columns": cols("name"), "where": list{list{"external_ids", "includes", mapOf(kv("c", "4"))}}}}),
		monitorCall("monitor_cond", "bad", obj{"Logical_Switch": obj{"where": list{list{"nope", "==", 1}}}}),
		monitorCall("monitor_cond", "two", obj{"Logical_Switch": list{obj{"columns": cols("name"), "where": list{list{"name", "==", "n1"}}}, obj{"columns": cols("external_ids"), "where": list{list{"name", "==", "n2"}}}}}),
		monitorCall("monitor", "v1", obj{"Logical_Switch": obj{"columns": cols("name"), "where": list{list{"name", "==", "n1"}}}}),
	}, changeSteps()...)
}

func conditionChangeSteps() []step {
	ls := "Logical_Switch"
	where := func(w ...any) obj { return obj{ls: list{obj{"where": orEmpty(w)}}} }
	return []step{
		nbTxn(ins(ls, 1, obj{"name": "a"}), ins(ls, 2, obj{"name": "b"}), ins(ls, 3, obj{"name": "c"})),
		monitorCall("monitor_cond", "m", obj{ls: obj{"columns": cols("name"), "where": list{is("name", "a")}}, "Logical_Router": obj{}}),
		monitorCall("monitor_cond_since", "s", obj{ls: obj{"columns": cols("name"), "where": list{is("name", "a")}}}),
		watch("monitor_cond_change", "m", "m2", where(is("name", "b"), is("name", "c"))), nbTxn(upd(ls, obj{"name": "b2"}, rowIs(2))), nbTxn(upd(ls, obj{"name": "b"}, rowIs(1))),
		watch("monitor_cond_change", "m2", "m2", where(true)), watch("monitor_cond_change", "m2", "m2", where(false)), watch("monitor_cond_change", "m2", "m2", where()),
		watch("monitor_cond_change", "m2", "m2", where()), watch("monitor_cond_change", "s", "s", where(list{"name", "!=", "c"})), watch("monitor_cond_change", "nope", "x", where()),
		watch("monitor_cond_change", "m2", "s", where()), watch("monitor_cond_change", "m2", "m2", obj{ls: obj{"where": list{}}}),
		watch("monitor_cond_change", "m2", "m2", obj{"Nope": list{obj{"where": list{}}}}), watch("monitor_cond_change", "m2", "m2", obj{ls: list{obj{"where": list{list{"nope", "==", 1}}}}}), nbTxn(del(ls)),
	}
}

func selectMonitorSteps() []step {
	columns := cols("name", "external_ids", "ports")
	with := func(s obj) obj { return obj{"Logical_Switch": obj{"columns": columns, "select": s}} }
	steps := []step{nbTxn(ins("Logical_Switch", 90, obj{"name": "old"}))}
	for _, method := range []string{"monitor", "monitor_cond"} {
		steps = append(steps,
			monitorCall(method, method+"1", with(obj{"initial": false})), monitorCall(method, method+"2", with(obj{"insert": false})), monitorCall(method, method+"3", with(obj{"modify": false})),
			monitorCall(method, method+"4", with(obj{"delete": false})), monitorCall(method, method+"5", with(obj{"initial": true, "insert": false, "modify": false, "delete": false})), monitorCall(method, method+"6", with(obj{"foo": true})),
			monitorCall(method, method+"7", obj{"Logical_Switch": list{obj{"columns": cols("name"), "select": obj{"modify": false}}, obj{"columns": cols("external_ids"), "select": obj{"insert": false, "initial": false}}}}),
			monitorCall(method, method+"8", obj{"Logical_Switch": obj{"columns": cols("_uuid", "_version", "name")}}), monitorCall(method, method+"9", obj{"Logical_Switch": obj{"columns": list{}}}))
	}
	return append(steps, changeSteps()...)
}

func southboundSteps() []step {
	txn := func(ops ...any) step { return call("transact", append(list{sb}, ops...)...) }
	pb, ch := "Port_Binding", "Chassis"
	return []step{
		watch("monitor_cond", sb, "pb", obj{pb: obj{"columns": cols("logical_port", "chassis", "up", "mac"), "where": list{list{"type", "==", ""}}}, ch: obj{"columns": cols("name")}, "Chassis_Private": obj{"columns": cols("name", "chassis"), "where": list{is("name", "c1")}}}),
		txn(ins("Encap", 1, obj{"type": "geneve", "ip": "10.0.0.1", "chassis_name": "c1"}), ins(ch, 2, obj{"name": "c1", "encaps": uuidOf(1)}), ins("Chassis_Private", 3, obj{"name": "c1", "chassis": uuidOf(2)})),
		txn(ins(ch, 4, obj{"name": "c2"})), txn(ins("Datapath_Binding", 5, obj{"tunnel_key": 1})), txn(ins("Datapath_Binding", 55, obj{"tunnel_key": 0})),
		txn(ins(pb, 6, obj{"logical_port": "vm", "datapath": uuidOf(5), "tunnel_key": 1, "mac": "fa:16:3e:00:00:01 10.0.0.5", "up": false})), txn(upd(pb, obj{"chassis": uuidOf(2)})), txn(upd(pb, obj{"up": true})),
		txn(ins(pb, 7, obj{"logical_port": "loc", "datapath": uuidOf(5), "tunnel_key": 1})), txn(ins(pb, 7, obj{"logical_port": "loc", "datapath": uuidOf(5), "tunnel_key": 2, "type": "localnet"})),
		txn(upd(pb, obj{"type": "virtual"}, rowIs(6))), txn(upd(pb, obj{"type": ""}, rowIs(6))), txn(del(ch, is("name", "c1"))), txn(sel("Encap", nil)), txn(sel("Chassis_Private", cols("name", "chassis"))),
		txn(del("Datapath_Binding")), txn(del(pb), del("Datapath_Binding")), txn(sel("Port_Binding", nil)),
	}
}

func vswitchSteps() []step {
	txn := func(ops ...any) step { return call("transact", append(list{vs}, ops...)...) }
	return []step{
		watch("monitor", vs, "m", obj{"Open_vSwitch": obj{"columns": cols("external_ids", "bridges")}, "Interface": obj{"columns": cols("name", "ofport", "options")}, "Port": obj{"columns": cols("name", "interfaces")}}),
		txn(ins("Open_vSwitch", 1, obj{"external_ids": mapOf(kv("system-id", "c1"))})),
		txn(insAs("Interface", 2, "i", obj{"name": "br-ex", "type": "internal"}), insAs("Port", 3, "p", obj{"name": "br-ex", "interfaces": named("i")}), insAs("Bridge", 4, "b", obj{"name": "br-ex", "ports": named("p")}), mut("Open_vSwitch", list{}, list{"bridges", "insert", named("b")})),
		txn(upd("Interface", obj{"ofport": 65534})), txn(upd("Interface", obj{"ofport": setOf()})), txn(upd("Interface", obj{"name": "other"})), txn(mut("Interface", list{}, list{"name", "insert", "x"})), txn(upd("Interface", obj{"ofport": -1, "statistics": mapOf(kv("rx", 5))})),
		txn(mut("Open_vSwitch", list{}, list{"next_cfg", "+=", 1}), sel("Open_vSwitch", cols("next_cfg"))), txn(upd("Port", obj{"interfaces": setOf()})), txn(upd("Port", obj{"trunks": setOf(1, 4096)})), txn(upd("Bridge", obj{"flood_vlans": setOf(1, 2, 3)})),
		txn(upd("Open_vSwitch", obj{"bridges": setOf()})), txn(sel("Interface", nil)),
	}
}
