package kernel

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

// Kinds of devices as the kernel names them (IFLA_INFO_KIND).
const (
	kindVRF   = "vrf"
	kindDummy = "dummy"
	kindVLAN  = "vlan"
)

// makeDevice creates a device, or corrects the master and the administrative
// state of an existing one. What cannot be changed is never corrected by
// deleting: FRR loses its imports with the VRF.
func (k *Kernel) makeDevice(ctx context.Context, name string, spec node.DeviceSpec) error {
	all, err := k.readLinks(ctx)
	if err != nil {
		return err
	}
	link, exists := all.byName[name]
	if !exists {
		if err := k.createDevice(all, name, spec); err != nil {
			return err
		}
		link = node.Link{Master: spec.Master}
	} else if err := immutable(link, spec); err != nil {
		return err
	}
	if link.Master != spec.Master {
		if err := k.setMaster(all, name, spec.Master); err != nil {
			return err
		}
	}
	if link.Up == spec.Up {
		return nil
	}
	err = k.setUp(node.KindDevice, name, spec.Up)
	if errors.Is(err, unix.ENETDOWN) {
		return fmt.Errorf("device %q below it is down: %w", spec.Parent, err)
	}
	return err
}

// immutable tells what of an existing device differs and cannot be changed.
func immutable(link node.Link, spec node.DeviceSpec) error {
	switch {
	case link.Type != spec.Type:
		return fmt.Errorf("a device of type %q has this name, %q is wanted", link.Type, spec.Type)
	case link.Table != spec.Table:
		return fmt.Errorf("the existing VRF has table %d, table %d is wanted", link.Table, spec.Table)
	case link.Parent != spec.Parent || link.VLAN != spec.VLAN:
		return fmt.Errorf("the existing device is VLAN %d on %q, VLAN %d on %q is wanted", link.VLAN, link.Parent, spec.VLAN, spec.Parent)
	}
	return nil
}

// createDevice makes a device, enslaved and down: enslaving one that is up takes
// its addresses away.
func (k *Kernel) createDevice(all links, name string, spec node.DeviceSpec) error {
	parts := []nl.NetlinkRequestData{nl.NewIfInfomsg(unix.AF_UNSPEC), attribute(unix.IFLA_IFNAME, nl.ZeroTerminated(name))}
	for _, related := range []struct {
		kind int
		dev  string
	}{{unix.IFLA_LINK, spec.Parent}, {unix.IFLA_MASTER, spec.Master}} {
		if related.dev == "" {
			continue
		}
		index, err := all.index(related.dev)
		if err != nil {
			return err
		}
		parts = append(parts, uint32Attribute(related.kind, uint32(index)))
	}
	parts = append(parts, linkInfo(spec))
	err := k.write(node.KindDevice, request(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, parts...))
	if errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("%w: this kernel has no %s devices; its module %q is missing (packages: linux-modules-extra, kernel-modules-core)", err, spec.Type, module(spec.Type))
	}
	return err
}

func (l links) index(dev string) (int, error) {
	link, ok := l.byName[dev]
	if !ok {
		return 0, named(fmt.Errorf("device %q: %w", dev, unix.ENODEV))
	}
	return link.Index, nil
}

func linkInfo(spec node.DeviceSpec) *nl.RtAttr {
	info := attribute(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(unix.IFLA_INFO_KIND, nl.NonZeroTerminated(spec.Type))
	switch spec.Type {
	case kindVRF:
		info.AddRtAttr(unix.IFLA_INFO_DATA, nil).AddRtAttr(unix.IFLA_VRF_TABLE, nl.Uint32Attr(spec.Table))
	case kindVLAN:
		info.AddRtAttr(unix.IFLA_INFO_DATA, nil).AddRtAttr(unix.IFLA_VLAN_ID, nl.Uint16Attr(spec.VLAN))
	}
	return info
}

// module is the kernel module of a kind of device.
func module(kind string) string {
	if kind == kindVLAN {
		return "8021q"
	}
	return kind
}

func (k *Kernel) setMaster(all links, dev, master string) error {
	index := 0
	if master != "" {
		var err error
		if index, err = all.index(master); err != nil {
			return err
		}
	}
	return k.write(node.KindDevice, request(unix.RTM_NEWLINK, 0, nl.NewIfInfomsg(unix.AF_UNSPEC),
		attribute(unix.IFLA_IFNAME, nl.ZeroTerminated(dev)), uint32Attribute(unix.IFLA_MASTER, uint32(index))))
}

// setUp sets the administrative state. ENODEV: there is no such device; ENETDOWN: it
// is a VLAN device whose parent is down.
func (k *Kernel) setUp(kind node.Kind, dev string, up bool) error {
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Change = unix.IFF_UP
	if up {
		header.Flags = unix.IFF_UP
	}
	err := k.write(kind, request(unix.RTM_NEWLINK, 0, header, attribute(unix.IFLA_IFNAME, nl.ZeroTerminated(dev))))
	if err != nil {
		return fmt.Errorf("set device %q up=%t: %w", dev, up, err)
	}
	return nil
}

// removeDevice removes a VLAN device; no other is ever removed.
func (k *Kernel) removeDevice(ctx context.Context, name string) error {
	all, err := k.readLinks(ctx)
	if err != nil {
		return err
	}
	link, exists := all.byName[name]
	if !exists {
		return nil
	}
	if link.Type != kindVLAN {
		return fmt.Errorf("a device of type %q is never removed", link.Type)
	}
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index = int32(link.Index)
	err = k.write(node.KindDevice, request(unix.RTM_DELLINK, 0, header))
	k.forgetIndexes()
	return tolerate(err, unix.ENODEV)
}
