package ovsdb

const nb, sb, vs = "OVN_Northbound", "OVN_Southbound", "Open_vSwitch"

type obj = map[string]any
type list = []any

func call(method string, params ...any) step { return step{method: method, params: params} }
func watch(method string, params ...any) step {
	return step{watch: true, method: method, params: params}
}
func nbTxn(ops ...any) step { return call("transact", append(list{nb}, ops...)...) }

func ins(table string, n int, row obj) obj {
	return obj{"op": "insert", "table": table, "uuid": id(n), "row": row}
}

func insAs(table string, n int, name string, row obj) obj {
	o := ins(table, n, row)
	o["uuid-name"] = name
	return o
}

func upd(table string, row obj, where ...any) obj {
	return obj{"op": "update", "table": table, "where": orEmpty(where), "row": row}
}

func mut(table string, where list, mutations ...any) obj {
	return obj{"op": "mutate", "table": table, "where": where, "mutations": mutations}
}

func del(table string, where ...any) obj {
	return obj{"op": "delete", "table": table, "where": orEmpty(where)}
}

func sel(table string, columns list, where ...any) obj {
	o := obj{"op": "select", "table": table, "where": orEmpty(where)}
	if columns != nil {
		o["columns"] = columns
	}
	return o
}

func orEmpty(l list) list {
	if l == nil {
		return list{}
	}
	return l
}

func setOf(members ...any) list    { return list{"set", orEmpty(members)} }
func mapOf(pairs ...any) list      { return list{"map", orEmpty(pairs)} }
func kv(k, v any) list             { return list{k, v} }
func is(column string, v any) list { return list{column, "==", v} }
func named(name string) list       { return list{"named-uuid", name} }
func rowIs(n int) list             { return is("_uuid", uuidOf(n)) }
func cols(names ...any) list       { return names }
func wait(until string, timeout any, table string, columns, rows list, where ...any) obj {
	return obj{"op": "wait", "table": table, "where": orEmpty(where), "columns": columns, "until": until, "rows": rows, "timeout": timeout}
}

func compareScripts() []script {
	return []script{
		{"requests", nb, requestSteps()},
		{"insert", nb, insertSteps()},
		{"update and select", nb, updateSteps()},
		{"mutate", nb, mutateSteps()},
		{"conditions", nb, conditionSteps()},
		{"references", nb, referenceSteps()},
		{"indexes and row counts", nb, indexSteps()},
		{"wait, abort, comment, assert", nb, controlSteps()},
		{"monitor", nb, monitorSteps("monitor")},
		{"monitor_cond", nb, monitorSteps("monitor_cond")},
		{"monitor_cond_since", nb, monitorSteps("monitor_cond_since")},
		{"monitored conditions", nb, conditionMonitorSteps()},
		{"changed conditions", nb, conditionChangeSteps()},
		{"select and columns of monitors", nb, selectMonitorSteps()},
		{"locks", nb, lockSteps()},
		{"southbound", sb, southboundSteps()},
		{"vswitch", vs, vswitchSteps()},
	}
}

func requestSteps() []step {
	return []step{
		call("list_dbs"), call("get_schema", "x"), call("get_schema"), call("no_such_method", 1),
		call("echo", "a", 1), call("set_db_change_aware", true), call("set_db_change_aware", "x"),
		call("transact", "x"), call("transact", nb), call("transact"), call("monitor_cancel", "x"),
		call("monitor", "_Server", "s", obj{"Database": obj{"columns": cols("model", "connected", "leader", "cid", "sid", "index")}}),
		call("monitor", "x", "s", obj{}), call("monitor", nb, "t", obj{"No_Table": obj{}}),
		call("monitor", nb, "t", obj{"Logical_Switch": obj{"columns": cols("nope")}}),
		nbTxn(obj{"op": "no_such_op"}), nbTxn("x"), nbTxn(obj{}), nbTxn(obj{"op": "insert"}),
		nbTxn(obj{"op": "insert", "table": "No_Table", "row": obj{}}),
		nbTxn(obj{"op": "insert", "table": "Logical_Switch"}),
		nbTxn(obj{"op": "delete", "table": "Logical_Switch"}),
		nbTxn(obj{"op": "delete", "table": "Logical_Switch", "where": list{}, "more": 1}),
		nbTxn(obj{"op": "select", "table": "Logical_Switch", "where": list{}, "columns": cols("nope")}),
		nbTxn(obj{"op": "select", "table": "Logical_Switch", "where": list{}, "columns": cols("name", "name")}),
	}
}

func insertSteps() []step {
	ls := "Logical_Switch"
	return []step{
		nbTxn(ins(ls, 1, obj{"name": "a", "external_ids": mapOf(kv("k", "v")), "other_config": mapOf()})),
		nbTxn(ins(ls, 1, obj{})), nbTxn(ins(ls, 2, obj{}), ins(ls, 2, obj{})),
		nbTxn(obj{"op": "insert", "table": ls, "row": obj{}, "uuid": "zz"}),
		nbTxn(ins(ls, 3, obj{"nope": 1})), nbTxn(ins(ls, 3, obj{"name": 5})), nbTxn(ins(ls, 3, obj{"name": setOf("a", "b")})),
		nbTxn(ins(ls, 3, obj{"name": setOf("one")})), nbTxn(ins(ls, 4, obj{"name": setOf()})),
		nbTxn(ins(ls, 5, obj{"external_ids": setOf()})), nbTxn(ins(ls, 5, obj{"external_ids": mapOf(kv("a", "b"), kv("a", "c"))})),
		nbTxn(ins(ls, 5, obj{"external_ids": mapOf(kv("a", 1))})), nbTxn(ins(ls, 5, obj{"external_ids": mapOf(list{"a"})})),
		nbTxn(ins(ls, 5, obj{"ports": setOf("x")})), nbTxn(ins(ls, 5, obj{"ports": uuidOf(77)})),
		nbTxn(ins(ls, 5, obj{"ports": named("nobody")})), nbTxn(ins(ls, 5, obj{"load_balancer": named("nobody")})),
		nbTxn(ins("ACL", 6, obj{"priority": 99999})), nbTxn(ins("ACL", 6, obj{"action": "x"})), nbTxn(ins("ACL", 6, obj{"priority": 1.5})),
		nbTxn(ins("ACL", 6, obj{"priority": 7.0, "log": 1})),
		nbTxn(ins("Logical_Switch_Port", 7, obj{"up": setOf(true, false)})), nbTxn(ins("Logical_Switch_Port", 7, obj{"tag": 4096})),
		nbTxn(ins("Logical_Switch_Port", 7, obj{"addresses": setOf("b", "a")}), insAs(ls, 8, "s", obj{"ports": uuidOf(7)})),
		nbTxn(ins("Logical_Switch_Port", 9, obj{"addresses": setOf("a", "a")})),
		nbTxn(insAs(ls, 10, "dup", obj{}), insAs(ls, 11, "dup", obj{})),
		nbTxn(ins("Gateway_Chassis", 12, obj{"priority": -1})),
		nbTxn(ins("Logical_Switch_Port", 13, obj{"name": "orphan"})),
		nbTxn(sel(ls, nil)), nbTxn(sel("Logical_Switch_Port", nil)),
	}
}

func updateSteps() []step {
	lr := "Logical_Router"
	return []step{
		nbTxn(ins(lr, 1, obj{"name": "a"}), ins(lr, 2, obj{"name": "b", "enabled": true}), ins(lr, 3, obj{"name": "b"})),
		nbTxn(upd(lr, obj{"name": "c"}, is("name", "b"))), nbTxn(upd(lr, obj{"enabled": setOf()}, is("name", "c"))),
		nbTxn(upd(lr, obj{"name": "c"})), nbTxn(upd(lr, obj{}, is("name", "c"))), nbTxn(upd(lr, obj{"name": "x"}, is("name", "zz"))),
		nbTxn(upd(lr, obj{"_uuid": uuidOf(9)})), nbTxn(upd(lr, obj{"_version": uuidOf(9)})), nbTxn(upd(lr, obj{"nope": 1})),
		nbTxn(upd(lr, obj{"name": "q"}, rowIs(1)), sel(lr, cols("name"), rowIs(1)), obj{"op": "abort"}),
		nbTxn(sel(lr, cols("name"))), nbTxn(sel(lr, cols("_uuid", "name", "enabled"), is("name", "c"))), nbTxn(sel(lr, list{})),
		nbTxn(ins(lr, 4, obj{"name": "d"}), upd(lr, obj{"name": "e"}, is("name", "d")), sel(lr, cols("_uuid"), is("name", "e")), del(lr, rowIs(4)), sel(lr, cols("_uuid"))),
		nbTxn(del(lr, is("name", "zz"))), nbTxn(del(lr), sel(lr, cols("_uuid"))), nbTxn(sel(lr, nil)),
	}
}

func mutateSteps() []step {
	ls, all := "Logical_Switch_Port", list{}
	return []step{
		nbTxn(ins("Logical_Switch", 1, obj{"ports": uuidOf(2)}), ins(ls, 2, obj{"name": "p", "addresses": setOf("a", "b"), "options": mapOf(kv("k", "v")), "tag": 5}), ins("NB_Global", 3, obj{"nb_cfg": 7})),
		nbTxn(mut(ls, all, list{"addresses", "insert", "c"}, list{"addresses", "delete", setOf("a", "zz")})),
		nbTxn(mut(ls, all, list{"addresses", "insert", setOf("c", "d")})), nbTxn(mut(ls, all, list{"addresses", "insert", setOf("e", "e")})),
		nbTxn(mut(ls, all, list{"options", "insert", mapOf(kv("k", "other"), kv("n", "1"))})),
		nbTxn(mut(ls, all, list{"options", "delete", mapOf(kv("k", "wrong"))})), nbTxn(mut(ls, all, list{"options", "delete", setOf("k", "zz")})),
		nbTxn(mut(ls, all, list{"options", "delete", "n"})), nbTxn(mut(ls, all, list{"options", "insert", setOf("k")})),
		nbTxn(mut(ls, all, list{"name", "+=", "x"})), nbTxn(mut(ls, all, list{"name", "insert", "x"})), nbTxn(mut(ls, all, list{"name", "foo", "x"})),
		nbTxn(mut(ls, all, list{"tag", "+=", 1})), nbTxn(mut(ls, all, list{"tag", "+=", 5000})), nbTxn(mut(ls, all, list{"tag", "insert", 9})), nbTxn(mut(ls, all, list{"tag", "insert", 6})),
		nbTxn(mut(ls, all, list{"tag", "delete", 6})), nbTxn(mut(ls, all, list{"tag", "+=", 1})), nbTxn(mut(ls, all, list{"tag", "insert", 9})),
		nbTxn(mut("NB_Global", all, list{"nb_cfg", "+=", 3})), nbTxn(mut("NB_Global", all, list{"nb_cfg", "/=", 0})), nbTxn(mut("NB_Global", all, list{"nb_cfg", "%=", 4})),
		nbTxn(mut("NB_Global", all, list{"nb_cfg", "*=", -3}, list{"nb_cfg", "-=", 1}, list{"nb_cfg", "/=", 2})), nbTxn(mut("NB_Global", all, list{"nb_cfg", "+=", 1.5})),
		nbTxn(mut("NB_Global", all, list{"_uuid", "insert", uuidOf(1)})), nbTxn(mut("NB_Global", all, list{"nope", "+=", 1})), nbTxn(mut("NB_Global", all, list{"nb_cfg"})),
		nbTxn(mut("NB_Global", all, list{"nb_cfg", "=", 9223372036854775807})), nbTxn(mut("NB_Global", all, list{"nb_cfg", "*=", 9223372036854775807})),
		nbTxn(mut("Logical_Switch", all, list{"ports", "delete", uuidOf(2)})), nbTxn(sel(ls, nil)), nbTxn(sel("NB_Global", cols("nb_cfg"))),
	}
}

func conditionSteps() []step {
	t := "Logical_Switch_Port"
	steps := []step{nbTxn(ins("Logical_Switch", 9, obj{"ports": setOf(uuidOf(1), uuidOf(2), uuidOf(3))}),
		ins(t, 1, obj{"name": "a", "addresses": setOf("x", "y"), "tag": 5, "options": mapOf(kv("k", "v"), kv("l", "w")), "up": true}),
		ins(t, 2, obj{"name": "b", "addresses": "x", "tag": 7, "up": false}), ins(t, 3, obj{"name": "c"}), ins("NB_Global", 8, obj{"nb_cfg": 4}))}
	for _, c := range []list{
		{"addresses", "==", setOf("y", "x")}, {"addresses", "!=", setOf("y", "x")}, {"addresses", "==", "x"}, {"addresses", "includes", "x"}, {"addresses", "includes", setOf()},
		{"addresses", "excludes", setOf("y", "q")}, {"addresses", "excludes", setOf()}, {"tag", "<", 6}, {"tag", ">=", 5}, {"tag", "==", setOf()}, {"tag", "!=", 5}, {"tag", "<", setOf()},
		{"tag", "includes", 7}, {"tag", "excludes", 7}, {"tag", "excludes", setOf(5, 7)}, {"tag", "includes", setOf(5, 7)}, {"options", "includes", mapOf(kv("k", "v"))}, {"options", "excludes", mapOf(kv("k", "x"))},
		{"options", "includes", mapOf(kv("k", "x"))}, {"options", "==", mapOf(kv("l", "w"), kv("k", "v"))}, {"up", "==", false}, {"up", "==", setOf()}, {"up", "<", true},
		{"name", "==", "a"}, {"name", "includes", "a"}, {"name", "excludes", "a"}, {"name", "<", "b"}, {"name", "foo", "b"}, {"nope", "==", "b"}, {"name", "=="},
		{"_uuid", "==", uuidOf(1)}, {"_uuid", "!=", uuidOf(1)}, {"_uuid", "==", list{"uuid", "zz"}}, {"_uuid", "includes", uuidOf(2)}, {"addresses", "<", "x"}, {"name", "==", setOf("a", "b")},
	} {
		steps = append(steps, nbTxn(sel(t, cols("name"), c)))
	}
	return append(steps,
		nbTxn(sel(t, cols("name"), is("up", true), is("name", "a"))), nbTxn(sel(t, cols("name"), is("up", true), is("name", "b"))),
		nbTxn(sel(t, cols("name"), true)), nbTxn(sel(t, cols("name"), false)), nbTxn(sel("NB_Global", cols("nb_cfg"), list{"nb_cfg", ">", 3})), nbTxn(sel(t, cols("name"), "x")))
}

func referenceSteps() []step {
	ls, lsp, lb := "Logical_Switch", "Logical_Switch_Port", "Load_Balancer"
	return []step{
		nbTxn(insAs(lsp, 1, "p", obj{"name": "p"}), insAs(ls, 2, "s", obj{"ports": named("p")})),
		nbTxn(ins(ls, 3, obj{"ports": named("late")}), insAs(lsp, 4, "late", obj{"name": "late"})),
		nbTxn(del(lsp, rowIs(1))), nbTxn(del(ls, rowIs(3)), sel(lsp, cols("name"))), nbTxn(sel(lsp, cols("name"))),
		nbTxn(ins(lb, 5, obj{"name": "lb"}), upd(ls, obj{"load_balancer": uuidOf(5)}, rowIs(2))), nbTxn(sel(ls, cols("load_balancer"))),
		nbTxn(del(lb)), nbTxn(sel(ls, cols("load_balancer"))), nbTxn(upd(ls, obj{"load_balancer": uuidOf(55)})), nbTxn(sel(ls, cols("load_balancer"))),
		nbTxn(upd(ls, obj{"ports": uuidOf(66)})), nbTxn(mut(ls, list{}, list{"ports", "insert", uuidOf(66)})),
		nbTxn(upd(ls, obj{"ports": setOf()}, rowIs(2)), del(lsp, rowIs(1))), nbTxn(sel(lsp, cols("name"))), nbTxn(sel(ls, cols("ports"))),
		nbTxn(ins("HA_Chassis_Group", 7, obj{"name": "g", "ha_chassis": named("h")}), insAs("HA_Chassis", 8, "h", obj{"chassis_name": "c"}), ins("Logical_Router", 9, obj{"ports": named("lrp")}), insAs("Logical_Router_Port", 10, "lrp", obj{"name": "lrp", "networks": "10.0.0.1/24", "ha_chassis_group": uuidOf(7)})),
		nbTxn(del("HA_Chassis_Group")), nbTxn(ins("NAT", 11, obj{"type": "snat", "gateway_port": uuidOf(10)}), upd("Logical_Router", obj{"nat": uuidOf(11)})),
		nbTxn(upd("Logical_Router", obj{"ports": setOf()})), nbTxn(sel("NAT", cols("gateway_port"))), nbTxn(del("Logical_Router")), nbTxn(sel("NAT", nil)), nbTxn(del("HA_Chassis_Group")), nbTxn(sel("HA_Chassis", nil)),
	}
}

func indexSteps() []step {
	t := "Address_Set"
	return []step{
		nbTxn(ins(t, 1, obj{"name": "a"})), nbTxn(ins(t, 2, obj{"name": "a"})), nbTxn(ins(t, 2, obj{"name": "b"}), ins(t, 3, obj{"name": "b"})),
		nbTxn(ins(t, 2, obj{"name": "b"})), nbTxn(upd(t, obj{"name": "c"})), nbTxn(upd(t, obj{"name": "a"}, rowIs(2))),
		nbTxn(upd(t, obj{"name": "b"}, rowIs(1)), upd(t, obj{"name": "a"}, rowIs(2))), nbTxn(del(t, rowIs(1)), ins(t, 4, obj{"name": "b"})),
		nbTxn(ins("Logical_Router_Static_Route", 6, obj{})), nbTxn(ins("Connection", 7, obj{"target": "x"}), ins("Connection", 8, obj{"target": "x"})),
		nbTxn(ins("NB_Global", 9, obj{})), nbTxn(ins("NB_Global", 10, obj{})), nbTxn(del("NB_Global"), ins("NB_Global", 11, obj{})), nbTxn(sel("NB_Global", cols("_uuid"))), nbTxn(sel(t, cols("_uuid", "name"))),
		nbTxn(del(t, is("name", "a"))), nbTxn(sel(t, cols("name"), is("name", "a"))), nbTxn(ins(t, 20, obj{"name": "a"})), nbTxn(upd(t, obj{"name": "z"}, rowIs(20))),
		nbTxn(sel(t, cols("name"), is("name", "a"))), nbTxn(sel(t, cols("_uuid"), is("name", "z"))), nbTxn(ins(t, 21, obj{"name": "a"})),
	}
}

func controlSteps() []step {
	t := "Logical_Router"
	names := func(n ...any) list {
		rows := list{}
		for _, x := range n {
			rows = append(rows, obj{"name": x})
		}
		return rows
	}
	return []step{
		nbTxn(ins(t, 1, obj{"name": "a"}), ins(t, 2, obj{"name": "a"})),
		nbTxn(wait("==", 0, t, cols("name"), names("a"))), nbTxn(wait("==", 0, t, cols("name"), names("a", "b"))), nbTxn(wait("!=", 0, t, cols("name"), names("a"))),
		nbTxn(wait("!=", 0, t, cols("name"), names("b"))), nbTxn(wait("==", 0, t, cols("name"), list{}, is("name", "zz"))), nbTxn(wait("==", 20, t, cols("name"), names("q"))),
		nbTxn(wait("==", 0, t, cols("name", "enabled"), names("a"))), nbTxn(wait("=", 0, t, cols("name"), names("a"))), nbTxn(wait("==", 0, t, cols("nope"), names("a"))),
		nbTxn(wait("==", "x", t, cols("name"), names("a"))), nbTxn(ins(t, 5, obj{"name": "n"}), wait("==", 0, t, cols("name"), names("a"))), nbTxn(sel(t, cols("_uuid"))),
		nbTxn(wait("==", 0, t, cols("_uuid"), list{obj{"_uuid": uuidOf(1)}, obj{"_uuid": uuidOf(2)}})),
		nbTxn(obj{"op": "abort"}, obj{"op": "abort"}), nbTxn(obj{"op": "comment", "comment": "hello"}), nbTxn(obj{"op": "comment"}), nbTxn(obj{"op": "comment", "comment": 1}),
		nbTxn(obj{"op": "commit", "durable": false}), nbTxn(obj{"op": "commit"}), nbTxn(obj{"op": "assert", "lock": "l"}), nbTxn(obj{"op": "assert"}),
	}
}

func lockSteps() []step {
	assert := nbTxn(obj{"op": "assert", "lock": "l"})
	return []step{
		call("lock", "l"), assert, call("lock", "l"), watch("lock", "l"), call("unlock", "l"), assert, call("unlock", "l"), call("steal", "l"), assert,
		watch("unlock", "l"), watch("lock", "l"), call("unlock", "l"), watch("unlock", "l"), call("lock", "m"), watch("lock", "m"), watch("unlock", "m"), watch("lock", "1x"), call("lock", 5), call("lock"),
	}
}
