package cloud

import (
	"context"
	"errors"
	"fmt"

	"ovn-bgp-agent/sim/ovsdb"
)

// BootVM boots an instance: CreatePort, BindPort on its host, PortUp.
func (c *Cloud) BootVM(ctx context.Context, vm VM) error {
	return c.verb("boot VM", vm.Name, func() error {
		if _, err := c.host(vm.Host); err != nil {
			return err
		}
		if err := c.createPort(ctx, vm); err != nil {
			return err
		}
		p, h, err := c.portAndHost(vm.Name, vm.Host)
		if err != nil {
			return err
		}
		if err := c.bindPort(ctx, p, h); err != nil {
			return err
		}
		return c.setUp(ctx, p, true)
	})
}

// StopVM shuts an instance off: its interface goes away, the port stays and
// keeps its requested chassis.
func (c *Cloud) StopVM(ctx context.Context, name string) error {
	return c.verb("stop VM", name, func() error {
		return c.withPort(name, func(p *port) error {
			if p.host == nil {
				return errors.New("it does not run")
			}
			return c.release(ctx, p)
		})
	})
}

// StartVM starts a stopped instance on the host it was on.
func (c *Cloud) StartVM(ctx context.Context, name string) error {
	return c.verb("start VM", name, func() error {
		p, h, err := c.portAndHost(name, c.requestedHost(name))
		if err != nil {
			return err
		}
		if p.host != nil {
			return fmt.Errorf("it runs on %s", p.host.Name)
		}
		if err := c.claim(ctx, p, h); err != nil {
			return err
		}
		return c.setUp(ctx, p, true)
	})
}

func (c *Cloud) requestedHost(name string) string {
	if p, ok := c.ports[name]; ok {
		return p.options["requested-chassis"]
	}
	return ""
}

// DeleteVM destroys an instance: its interface goes away, if it runs, then its
// port.
func (c *Cloud) DeleteVM(ctx context.Context, name string) error {
	return c.verb("delete VM", name, func() error {
		return c.withPort(name, func(p *port) error {
			if p.host != nil {
				if err := c.release(ctx, p); err != nil {
					return err
				}
			}
			return c.deletePort(ctx, p)
		})
	})
}

// PortRows are columns to set on a port's rows, as they are.
type PortRows struct {
	NB ovsdb.Row // of the Logical_Switch_Port
	SB ovsdb.Row // of the Port_Binding
	// Expect are the addresses that the port's host must announce from now on
	// while the port is up: the cloud cannot tell what odd rows mean.
	Expect []string
}

// SetPort writes odd rows that no actor would: each database that edit names
// columns for gets one transaction, OVN_Northbound first. edit gets the
// addresses that are expected now.
func (c *Cloud) SetPort(ctx context.Context, name string, edit func(*PortRows)) error {
	return c.verb("set port", name, func() error {
		return c.withPort(name, func(p *port) error { return c.setPort(ctx, p, edit) })
	})
}

func (c *Cloud) setPort(ctx context.Context, p *port, edit func(*PortRows)) error {
	rows := PortRows{NB: ovsdb.Row{}, SB: ovsdb.Row{}, Expect: addressTexts(p.answersTo)}
	edit(&rows)
	expect, err := parseAddresses(rows.Expect)
	if err != nil {
		return err
	}
	p.answersTo = expect
	if len(rows.NB) > 0 {
		if err := c.northbound(ctx, ovsdb.Update("Logical_Switch_Port", rows.NB, whereLSP(p.id))); err != nil {
			return err
		}
	}
	if len(rows.SB) > 0 {
		return c.southbound(ctx, ovsdb.Update("Port_Binding", rows.SB, wherePB(p.id)))
	}
	return nil
}

// PortID is the name of a port's Logical_Switch_Port and Port_Binding, "" if
// there is no such port.
func (c *Cloud) PortID(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.ports[name]; ok {
		return p.id
	}
	return ""
}
