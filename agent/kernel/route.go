package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

// route is a route of any type; the device is given by index, 0 for one with
// several next hops.
type route struct {
	key     node.Route
	spec    node.RouteSpec // without Dev
	index   int
	unicast bool // type unicast, for every source and every TOS
}

func decodeRoute(message []byte) (route, bool) {
	if len(message) < unix.SizeofRtMsg {
		return route{}, false
	}
	header := nl.DeserializeRtMsg(message)
	dst, ip := unspecified(header.Family)
	if !ip || header.Flags&unix.RTM_F_CLONED != 0 {
		return route{}, false
	}
	r := route{
		key:     node.Route{Table: uint32(header.Table), Dst: dst},
		spec:    node.RouteSpec{Scope: header.Scope, Proto: header.Protocol},
		unicast: header.Type == unix.RTN_UNICAST && header.Src_len == 0 && header.Tos == 0,
	}
	for kind, value := range attributes(message[unix.SizeofRtMsg:]) {
		switch kind {
		case unix.RTA_TABLE:
			r.key.Table = uint32Of(value)
		case unix.RTA_DST:
			r.key.Dst = netip.PrefixFrom(addressOf(value), int(header.Dst_len))
		case unix.RTA_PRIORITY:
			r.key.Metric = uint32Of(value)
		case unix.RTA_OIF:
			r.index = int(uint32Of(value))
		case unix.RTA_GATEWAY:
			r.spec.Gateway = addressOf(value)
		case unix.RTA_VIA:
			r.spec.Gateway = addressOf(value[min(2, len(value)):])
		}
	}
	return r, true
}

// readRoutes dumps every route; keep says which count. tables tells every table
// that has a route.
func (k *Kernel) readRoutes(ctx context.Context, keep func(route) bool) (routes []route, tables map[uint32]struct{}, err error) {
	tables = map[uint32]struct{}{}
	decode := func(message []byte) (route, bool) {
		r, ok := decodeRoute(message)
		if !ok {
			return r, false
		}
		tables[r.key.Table] = struct{}{}
		return r, keep(r)
	}
	routes, err = dump(ctx, k.conn, request(unix.RTM_GETROUTE, 0, &nl.RtMsg{}), unix.RTM_NEWROUTE, decode)
	if err != nil {
		return nil, nil, fmt.Errorf("read routes: %w", err)
	}
	return routes, tables, nil
}

// routeRequest names everything that is known of the route, so that a removal
// hits this one and no other. index 0 leaves the device out.
func routeRequest(command, flags int, r node.Route, spec node.RouteSpec, index int) *nl.NetlinkRequest {
	header := &nl.RtMsg{RtMsg: unix.RtMsg{
		Family: family(r.Dst.Addr()), Dst_len: uint8(r.Dst.Bits()), Table: headerTable(r.Table),
		Protocol: spec.Proto, Scope: spec.Scope, Type: unix.RTN_UNICAST,
	}}
	parts := []nl.NetlinkRequestData{header, uint32Attribute(unix.RTA_TABLE, r.Table)}
	if r.Dst.Bits() > 0 {
		parts = append(parts, attribute(unix.RTA_DST, r.Dst.Addr().AsSlice()))
	}
	if r.Metric != 0 {
		parts = append(parts, uint32Attribute(unix.RTA_PRIORITY, r.Metric))
	}
	if index != 0 {
		parts = append(parts, uint32Attribute(unix.RTA_OIF, uint32(index)))
	}
	if spec.Gateway.IsValid() {
		parts = append(parts, gateway(spec.Gateway, r.Dst.Addr()))
	}
	return request(command, flags, parts...)
}

// gateway of another family than the destination's is sent as struct rtvia.
func gateway(gateway, dst netip.Addr) *nl.RtAttr {
	if family(gateway) == family(dst) {
		return attribute(unix.RTA_GATEWAY, gateway.AsSlice())
	}
	via := binary.NativeEndian.AppendUint16(nil, uint16(family(gateway)))
	return attribute(unix.RTA_VIA, append(via, gateway.AsSlice()...))
}

// makeRoute takes the place of a route with the same table, destination and metric.
func (k *Kernel) makeRoute(ctx context.Context, r node.Route, spec node.RouteSpec, old node.Value) error {
	err := k.onDevice(ctx, spec.Dev, func(index int) error {
		return k.write(node.KindRoute, routeRequest(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, r, spec, index))
	})
	if errors.Is(err, unix.EEXIST) && old != nil {
		// IPv4: the same route stands behind another with its key, which is the
		// one in effect, and the kernel does not put it first.
		return k.removeRoute(ctx, r, old)
	}
	return err
}

func (k *Kernel) removeRoute(ctx context.Context, r node.Route, old node.Value) error {
	spec, known := old.(node.RouteSpec)
	if !known {
		return nil // Step.Old is nil: it was absent
	}
	remove := func(index int) error {
		return k.write(node.KindRoute, routeRequest(unix.RTM_DELROUTE, 0, r, spec, index))
	}
	var err error
	if spec.Dev == "" {
		err = remove(0)
	} else {
		err = k.onDevice(ctx, spec.Dev, remove)
	}
	return tolerate(err, unix.ESRCH, unix.ENOENT, unix.ENODEV)
}
