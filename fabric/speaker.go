package fabric

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/server"
	"github.com/vishvananda/netns"
)

// stopTimeout bounds each wait of [speaker.stop] for GoBGP.
const stopTimeout = 10 * time.Second

// speaker runs one GoBGP server.
type speaker struct {
	config  Config
	bgp     *server.BgpServer
	hook    *serveHook
	served  chan struct{} // closed when Serve has ended
	unwatch context.CancelFunc

	mu       sync.Mutex // held during management operations
	issued   int64      // management operations that were issued
	stopping bool
}

// startSpeaker starts GoBGP. The recorder gets every event, in order, on one
// goroutine.
func startSpeaker(ctx context.Context, c Config, rec *recorder) (*speaker, error) {
	hook := &serveHook{progress: make(chan struct{}, 1)}
	s := &speaker{
		config: c,
		hook:   hook,
		bgp:    server.NewBgpServer(server.LoggerOption(gobgpLogger{c.Log}), server.TimingHookOption(hook)),
		served: make(chan struct{}),
	}
	if err := s.serve(); err != nil {
		return nil, err
	}
	if err := s.open(ctx, rec); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// serve runs the server's loop on a thread of its own inside the namespace, since
// the loop's goroutine is the one that opens the listener. The thread is never
// unlocked, so that it ends with the goroutine instead of returning to Go's pool.
func (s *speaker) serve() error {
	entered := make(chan error)
	go func() {
		defer close(s.served)
		runtime.LockOSThread()
		if s.config.NetNS > 0 {
			if err := netns.Set(s.config.NetNS); err != nil {
				entered <- fmt.Errorf("entering the network namespace: %w", err)
				return
			}
		}
		close(entered)
		s.bgp.Serve()
	}()
	return <-entered
}

func (s *speaker) open(ctx context.Context, rec *recorder) error {
	watching, cancel := context.WithCancel(context.Background())
	s.unwatch = cancel
	if err := s.manage(func() error { return s.startBGP(ctx) }); err != nil {
		return err
	}
	if err := s.manage(func() error { return s.watch(watching, rec) }); err != nil {
		return fmt.Errorf("watching GoBGP: %w", err)
	}
	s.hook.watchers.Store(1)
	for _, p := range s.config.Peers {
		if err := s.manage(func() error { return s.addPeer(ctx, p) }); err != nil {
			return fmt.Errorf("adding peer %s %s: %w", p.Name, p.Address, err)
		}
	}
	return nil
}

func (s *speaker) startBGP(ctx context.Context) error {
	err := s.bgp.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{
		Asn:             s.config.AS,
		RouterId:        s.config.RouterID.String(),
		ListenPort:      int32(s.config.Port),
		ListenAddresses: s.listenAddresses(),
	}})
	if err != nil {
		return fmt.Errorf("opening the BGP listener on port %d: %w", s.config.Port, err)
	}
	return nil
}

// listenAddresses has an entry only for the families of the peers, so that a
// kernel without IPv6 serves IPv4 peers.
func (s *speaker) listenAddresses() []string {
	var v4, v6 bool
	for _, p := range s.config.Peers {
		v4 = v4 || p.Address.Is4()
		v6 = v6 || p.Address.Is6()
	}
	switch {
	case v4 && v6:
		return []string{"0.0.0.0", "::"}
	case v6:
		return []string{"::"}
	default:
		return []string{"0.0.0.0"}
	}
}

func (s *speaker) addPeer(ctx context.Context, p Peer) error {
	restart := &api.GracefulRestart{Enabled: s.config.GracefulRestart}
	return s.bgp.AddPeer(ctx, &api.AddPeerRequest{Peer: &api.Peer{
		Conf:            &api.PeerConf{NeighborAddress: p.Address.String(), PeerAsn: p.AS},
		Transport:       &api.Transport{PassiveMode: true},
		GracefulRestart: restart,
		AfiSafis: []*api.AfiSafi{
			unicast(api.Family_AFI_IP, restart.Enabled),
			unicast(api.Family_AFI_IP6, restart.Enabled),
		},
	}})
}

func unicast(afi api.Family_Afi, restart bool) *api.AfiSafi {
	return &api.AfiSafi{
		Config:            &api.AfiSafiConfig{Family: &api.Family{Afi: afi, Safi: api.Family_SAFI_UNICAST}, Enabled: true},
		MpGracefulRestart: &api.MpGracefulRestart{Config: &api.MpGracefulRestartConfig{Enabled: restart}},
	}
}

// watch hands sessions and routes to the recorder. Of GoBGP's views only the one
// after import policy also shows the routes that GoBGP itself drops.
func (s *speaker) watch(ctx context.Context, rec *recorder) error {
	request := &api.WatchEventRequest{
		Peer: &api.WatchEventRequest_Peer{},
		Table: &api.WatchEventRequest_Table{Filters: []*api.WatchEventRequest_Table_Filter{
			{Type: api.WatchEventRequest_Table_Filter_POST_POLICY},
		}},
	}
	return s.bgp.WatchEvent(ctx, request, func(r *api.WatchEventResponse) {
		if table := r.GetTable(); table != nil {
			rec.paths(table.Paths)
		}
		if session := r.GetPeer(); session != nil {
			if address, lost := rec.session(session.Peer.State); lost && !s.config.GracefulRestart {
				s.readmit(ctx, address)
			}
		}
	})
}

// readmit replaces a peer whose session is lost. GoBGP refuses the connections of
// a lost peer for five seconds, which no configuration shortens; a router accepts
// them at once.
func (s *speaker) readmit(ctx context.Context, address netip.Addr) {
	var peer Peer
	for _, p := range s.config.Peers {
		if p.Address == address {
			peer = p
		}
	}
	log := s.config.Log.With("node", peer.Name, "peer", address)
	err := s.manage(func() error {
		return s.bgp.DeletePeer(ctx, &api.DeletePeerRequest{Address: address.String()})
	})
	if err != nil {
		log.Error("fabric: cannot remove the lost peer", "error", err)
		return
	}
	if err := s.manage(func() error { return s.addPeer(ctx, peer) }); err != nil {
		log.Error("fabric: cannot add the lost peer again", "error", err)
	}
}

// manage issues one management operation of GoBGP, unless the speaker stops.
func (s *speaker) manage(operation func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil
	}
	s.issued++
	return operation()
}

// stop ends the watcher before the server, which would otherwise wait for it for
// ever, and then Serve, which GoBGP itself never ends. Management operations are
// counted, since GoBGP tells neither when a watcher is gone nor when Serve is idle.
func (s *speaker) stop() {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return
	}
	s.stopping = true
	done := s.issued + s.hook.watchers.Load() // a watcher's end is an operation too
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	s.unwatch()
	if err := s.hook.wait(ctx, done); err != nil {
		s.config.Log.Error("fabric: GoBGP's watcher did not end", "error", err)
		return
	}
	s.hook.last.Store(done + 2) // the two that follow
	if err := s.bgp.StopBgp(ctx, &api.StopBgpRequest{}); err != nil {
		s.config.Log.Error("fabric: stopping GoBGP", "error", err)
	}
	if _, err := s.bgp.GetBgp(ctx, &api.GetBgpRequest{}); err != nil {
		s.config.Log.Debug("fabric: last operation of GoBGP", "error", err)
	}
	<-s.served
}

// serveHook is called on the goroutine of Serve after each thing that it did.
type serveHook struct {
	managed  atomic.Int64 // management operations that are done
	watchers atomic.Int64
	last     atomic.Int64 // the operation after which Serve ends; 0 is none
	progress chan struct{}
}

// Observe implements server.FSMTimingHook.
func (h *serveHook) Observe(op server.FSMOperation, _, _ time.Duration) {
	if op != server.FSMMgmtOp {
		return
	}
	if h.managed.Add(1) == h.last.Load() {
		runtime.Goexit()
	}
	select {
	case h.progress <- struct{}{}:
	default:
	}
}

func (h *serveHook) wait(ctx context.Context, operations int64) error {
	for h.managed.Load() < operations {
		select {
		case <-h.progress:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
