package ovsdb

import (
	"os"
	"reflect"
	"testing"
)

func TestBuiltinSchemaEqualsTheInstalledOne(t *testing.T) {
	for path, release := range map[string]string{
		"/usr/share/ovn/ovn-nb.ovsschema":                "23.03",
		"/usr/share/ovn/ovn-sb.ovsschema":                "23.03",
		"/usr/share/openvswitch/vswitch.ovsschema":       "",
		"/usr/local/share/openvswitch/vswitch.ovsschema": "",
	} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		t.Run(path, func(t *testing.T) {
			installed, err := LoadSchema(path)
			if err != nil {
				t.Fatal(err)
			}
			mine, err := BuiltinSchema(installed.Name(), release)
			if err != nil {
				t.Fatal(err)
			}
			if mine.Version() != installed.Version() {
				t.Skipf("installed version is %s, the built-in one is %s", installed.Version(), mine.Version())
			}
			for _, name := range installed.Tables() {
				want, got := installed.tables[name], mine.tables[name]
				if !reflect.DeepEqual(want, got) {
					t.Errorf("table %s differs: %+v, installed %+v", name, got, want)
				}
			}
			if len(mine.tables) != len(installed.tables) {
				t.Errorf("tables %v, installed %v", mine.Tables(), installed.Tables())
			}
		})
	}
}

func TestBuiltinSchemaPerRelease(t *testing.T) {
	for _, c := range []struct {
		database, release, version, table, column string
		has                                       bool
	}{
		{"OVN_Northbound", "23.03", "7.0.0", "Logical_Router_Port", "status", false},
		{"OVN_Northbound", "23.06", "7.0.4", "Logical_Router_Port", "status", false},
		{"OVN_Northbound", "23.09", "7.1.0", "Logical_Router_Port", "status", true},
		{"OVN_Northbound", "23.12", "7.1.0", "Logical_Router_Port", "status", true},
		{"OVN_Northbound", "23.03", "7.0.0", "NAT", "gateway_port", true},
		{"OVN_Northbound", "25.03", "7.11.0", "Logical_Switch_Port", "peer", true},
		{"OVN_Northbound", "", "7.12.0", "Logical_Switch_Port", "peer", true},
		{"OVN_Southbound", "23.06", "20.31.0", "Load_Balancer", "lr_datapath_group", false},
		{"OVN_Southbound", "23.09", "20.32.0", "Load_Balancer", "lr_datapath_group", true},
		{"OVN_Southbound", "25.03", "20.41.0", "Advertised_Route", "ip_prefix", true},
		{"Open_vSwitch", "", "8.3.1", "Interface", "ofport", true},
	} {
		s := builtin(t, c.database, c.release)
		if s.Version() != c.version {
			t.Errorf("%s of %q has version %s, want %s", c.database, c.release, s.Version(), c.version)
		}
		if got := s.HasColumn(c.table, c.column); got != c.has {
			t.Errorf("%s of %q: has %s.%s = %v", c.database, c.release, c.table, c.column, got)
		}
	}
}

func TestSchemaErrors(t *testing.T) {
	if _, err := BuiltinSchema("Nope"); err == nil {
		t.Error("a schema that does not exist was found")
	}
	if _, err := BuiltinSchema("OVN_Northbound", "22.03"); err == nil {
		t.Error("a release before the first has a schema")
	}
	if _, err := LoadSchema("/nonexistent"); err == nil {
		t.Error("a missing file was loaded")
	}
	for _, text := range []string{``, `{}`, `{"name":"a","tables":{}}`,
		`{"name":"a","tables":{"T":{"columns":{"c":{"type":"nope"}}}}}`,
		`{"name":"a","tables":{"T":{"columns":{"c":{"type":{"key":{"type":"uuid","refTable":"U"}}}}}}}`,
		`{"name":"a","tables":{"T":{"columns":{"c":{"type":"string"}},"indexes":[["d"]]}}}`,
	} {
		if _, err := ParseSchema([]byte(text)); err == nil {
			t.Errorf("accepted %s", text)
		}
	}
	for _, line := range []string{"x", "table T what", "table T max=x", "table T\n c strin", "table T\n c string what", "frob a b"} {
		if _, err := parseNotation("schema S 1.0.0\n"+line, ""); err == nil {
			t.Errorf("accepted %q", line)
		}
	}
}
