package kernel

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

// Apply makes or removes one object; every kind but a flow. An announcement is
// on the BGPNIC of the last [Kernel.Read]. Making what exists already and
// removing what is absent, or was on a device that is gone, are no errors. Errors name the object and the errno.
func (k *Kernel) Apply(ctx context.Context, step node.Step) error {
	err := ctx.Err()
	if err == nil {
		if step.Op == node.Make {
			err = k.make(ctx, step)
		} else {
			err = k.remove(ctx, step)
		}
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", step.Op, step.Key, err)
	}
	return nil
}

func (k *Kernel) make(ctx context.Context, step node.Step) error {
	switch key := step.Key.(type) {
	case node.RTTable:
		return with(step, func(number uint32) error { return k.makeRTTable(key.Name, number) })
	case node.Device:
		return with(step, func(spec node.DeviceSpec) error { return k.makeDevice(ctx, key.Name, spec) })
	case node.LinkUp:
		return k.makeLinkUp(key.Dev)
	case node.Sysctl:
		return with(step, func(value string) error { return k.makeSysctl(key.Key, value) })
	case node.Address:
		return k.makeAddress(ctx, key.Kind(), key.Dev, key.Prefix)
	case node.Rule:
		return k.makeRule(ctx, key)
	case node.Neighbour:
		return with(step, func(mac string) error { return k.makeNeighbour(ctx, key, mac) })
	case node.Route:
		return with(step, func(spec node.RouteSpec) error { return k.makeRoute(ctx, key, spec, step.Old) })
	case node.Proxy:
		return k.makeProxy(ctx, key)
	case node.Announcement:
		return k.announcing(func(dev string) error { return k.makeAddress(ctx, key.Kind(), dev, key.Prefix) })
	}
	return errKind
}

func (k *Kernel) remove(ctx context.Context, step node.Step) error {
	switch key := step.Key.(type) {
	case node.Device:
		return k.removeDevice(ctx, key.Name)
	case node.Address:
		return k.removeAddress(ctx, key.Kind(), key.Dev, key.Prefix)
	case node.Rule:
		return k.removeRule(key)
	case node.Neighbour:
		return k.removeNeighbour(ctx, key)
	case node.Route:
		return k.removeRoute(ctx, key, step.Old)
	case node.Proxy:
		return k.removeProxy(ctx, key)
	case node.Announcement:
		return k.announcing(func(dev string) error { return k.removeAddress(ctx, key.Kind(), dev, key.Prefix) })
	}
	return errKind
}

// errKind: rt_tables lines, parameters and the state of bridges are never taken
// away, and flows are not the kernel's.
var errKind = errors.New("package kernel does not do this")

// with calls act with the wanted value of a step.
func with[V any](step node.Step, act func(V) error) error {
	value, ok := step.Value.(V)
	if !ok {
		return fmt.Errorf("value is of type %T, not %T", step.Value, value)
	}
	return act(value)
}

// announcing calls act with the device of the announcements.
func (k *Kernel) announcing(act func(dev string) error) error {
	k.mu.Lock()
	dev := k.bgpNIC
	k.mu.Unlock()
	if dev == "" {
		return errors.New("nothing was read before, so the announcing device is not known")
	}
	return act(dev)
}

// makeLinkUp sets a provider bridge up. It never makes one: Open vSwitch could
// not take the name any more (side-effects.md K16).
func (k *Kernel) makeLinkUp(dev string) error {
	err := k.setUp(node.KindLinkUp, dev, true)
	if errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("the bridge has no device, and the agent never makes one: %w", err)
	}
	return err
}
