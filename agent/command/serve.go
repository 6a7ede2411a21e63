package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"ovn-bgp-agent/agent"
	"ovn-bgp-agent/agent/config"
	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/frr"
	"ovn-bgp-agent/agent/kernel"
	"ovn-bgp-agent/agent/openflow"
	"ovn-bgp-agent/agent/ovsdb/client"
	"ovn-bgp-agent/agent/status"
	"ovn-bgp-agent/agent/wiring"
)

// Where the programs of the node keep what the agent reads (config.md §4.3).
const (
	rtTables   = "/etc/iproute2/rt_tables"
	procSys    = "/proc/sys"
	ovsRunDir  = "/run/openvswitch"
	frrVtyDir  = "/run/frr"
	vtysh      = "/usr/bin/vtysh"
	socketMode = 0o660
)

// nodeTimeout bounds each answer of the node's own programs.
const nodeTimeout = 10 * time.Second

// serve runs the agent until the context ends.
func (p Program) serve(ctx context.Context, o options, _ io.Writer) (err error) {
	c, warnings, err := o.load()
	if err != nil {
		return err
	}
	out, err := openLog(o, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	log := out.logger
	for _, w := range warnings {
		log.Warn(w.String())
	}
	log.Info("Service 'BGPAgent' starting", "version", p.Version, "driver", c.Driver, "exposing_method", c.ExposingMethod, "dry_run", o.dryRun)
	listener, err := status.Listen(c.StatusSocket, socketMode)
	if err != nil {
		return err
	}
	a, closeParts, err := p.assemble(o, c, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer closeParts()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- status.Serve(ctx, listener, a, log) }()
	err = a.Run(ctx)
	cancel()
	log.Info("Service 'BGPAgent' stopped; what is announced stays announced")
	return errors.Join(err, <-served)
}

// load reads the configuration and refuses what this version cannot do.
func (o options) load() (*config.Config, []config.Warning, error) {
	return config.Load(config.Sources{Files: o.configFiles, Dirs: o.configDirs, Env: os.Environ()})
}

// assemble makes the agent of its parts.
func (p Program) assemble(o options, c *config.Config, log *slog.Logger) (*agent.Agent, func(), error) {
	hostname, err := os.Hostname()
	if err != nil {
		return nil, nil, fmt.Errorf("this machine's name: %w", err)
	}
	adapter, err := kernel.Open(kernel.Config{
		RTTables: rtTables, RTTablesDefault: []string{"/usr/share/iproute2/rt_tables", "/usr/lib/iproute2/rt_tables"},
		ProcSys: procSys, Log: log,
	})
	if err != nil {
		return nil, nil, err
	}
	lost := make(chan string, 64)
	switches := openflow.New(openflow.Config{RunDir: ovsRunDir, Timeout: nodeTimeout, Log: log, Lost: func(bridge string) { lost <- bridge }})
	settings := settingsOf(c)
	settings.Version, settings.Hostname, settings.DryRun = p.Version, hostname, o.dryRun
	parts := agent.Parts{
		Driver: driverOf(c, exposure.Settings{Hostname: hostname}),
		Kernel: adapter, Switch: switches,
		FRR:   frr.New(frr.Config{VtyDir: frrVtyDir, Vtysh: vtysh, Timeout: nodeTimeout, Log: log}),
		Ready: func() { notifyReady(log) },
	}.Underlay()
	if p.Alter != nil {
		p.Alter(&parts)
	}
	a := agent.New(settings, parts, log)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case bridge := <-lost:
				a.LostBridge(bridge)
			case <-done:
				return
			}
		}
	}()
	return a, func() { close(done); switches.Close(); adapter.Close() }, nil
}

func driverOf(c *config.Config, s exposure.Settings) exposure.Driver {
	if c.Driver == config.DriverNB {
		return exposure.Northbound(s)
	}
	return exposure.Southbound(s)
}

// settingsOf is what the agent needs of the configuration.
func settingsOf(c *config.Config) agent.Settings {
	s := agent.Settings{
		Names: wiring.Names{BGPNIC: c.BGPNIC, BGPVRF: c.BGPVRF, VRFTable: c.BGPVRFTableID},
		AS:    c.BGPAS, RouterID: c.BGPRouterID,
		ReconcileInterval: c.ReconcileInterval, FRRInterval: c.FRRReconcileInterval,
		MassWithdrawGuard: c.MassWithdrawGuard, Driver: c.Driver, Method: c.ExposingMethod,
		OVSEndpoints: []string{c.OVSDBConnection}, ConnectTimeout: c.OVSDBConnectionTimeout,
	}
	files := c.OVN.SB
	if c.Driver == config.DriverNB {
		files = c.OVN.NB
	}
	s.OVNEndpoints = files.Connection
	s.TLS = client.TLSFiles(files.PrivateKey, files.Certificate, files.CACert)
	return s
}

// notifyReady tells systemd that the first sync is done (sd_notify(3)).
func notifyReady(log *slog.Logger) {
	log.Info("Service 'BGPAgent' started")
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		log.Warn("telling systemd that the agent is ready", "error", err)
	}
}

// output is where the log goes.
type output struct {
	logger *slog.Logger
	close  func() error
}

func openLog(o options, c *config.Config) (output, error) {
	level := slog.LevelInfo
	if o.debug || c.Debug {
		level = slog.LevelDebug
	}
	path := o.logFile
	if path == "" {
		path = c.LogFile
	}
	var w io.Writer = os.Stderr
	closeFile := func() error { return nil }
	if path != "" {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
		if err != nil {
			return output{}, fmt.Errorf("log file: %w", err)
		}
		w, closeFile = file, file.Close
	}
	handlerOptions := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(w, handlerOptions)
	if c.UseJSON {
		handler = slog.NewJSONHandler(w, handlerOptions)
	}
	return output{slog.New(handler), closeFile}, nil
}
