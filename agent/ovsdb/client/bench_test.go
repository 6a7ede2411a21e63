package client

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkDownload measures the first download of 10,000 switch ports from
// ovsdb-server, from dialing to the delivered change.
func BenchmarkDownload(b *testing.B) {
	const ports = 10_000
	s := newServer(b, northboundSchema)
	u := s.user("OVN_Northbound")
	var operations, names []string
	for i := range ports {
		operations = append(operations, fmt.Sprintf(`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p%d","row":{
			"name":"port-%d","up":true,"addresses":"fa:16:3e:00:%02x:%02x 172.24.%d.%d",
			"options":["map",[["requested-chassis","host-%d"],["mcast_flood_reports","true"]]],
			"external_ids":["map",[["neutron:cidrs","172.24.%d.%d/16"],["neutron:project_id","p"],["neutron:device_owner","compute:nova"]]]}}`,
			i, i, i/256, i%256, i/256, i%256, i%100, i/256, i%256))
		names = append(names, fmt.Sprintf(`["named-uuid","p%d"]`, i))
	}
	operations = append(operations, fmt.Sprintf(`{"op":"insert","table":"Logical_Switch","row":{"name":"ls","ports":["set",[%s]]}}`, strings.Join(names, ",")))
	u.transact(operations...)
	config := northbound(s)
	config.Tables[1].Columns = append(config.Tables[1].Columns, "external_ids", "type", "tag")
	for b.Loop() {
		ctx, cancel := context.WithCancel(context.Background())
		rows := 0
		if err := New(config).Run(ctx, func(c Change) { rows = len(c.Tables["Logical_Switch_Port"]); cancel() }); err != context.Canceled || rows != ports {
			b.Fatalf("%v, %d rows", err, rows)
		}
	}
}
