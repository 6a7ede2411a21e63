package fabric

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/server"
	"google.golang.org/protobuf/types/known/anypb"
)

const testTimeout = 30 * time.Second

// sender is a GoBGP server in the role of a node's FRR.
type sender struct {
	bgp  *server.BgpServer
	stop func()
}

// endpoint is one session of a sender.
type endpoint struct{ local, remote netip.Addr }

// startSender makes a sender without sessions. Since GoBGP's start writes package
// variables, all senders of a test are started before the first one connects.
func startSender(t testing.TB, as uint32) *sender {
	t.Helper()
	s := &sender{bgp: server.NewBgpServer(server.LoggerOption(gobgpLogger{slog.New(slog.DiscardHandler)}))}
	go s.bgp.Serve()
	must(t, s.bgp.StartBgp(t.Context(), &api.StartBgpRequest{Global: &api.Global{
		Asn: as, RouterId: "10.255.0.9", ListenPort: -1,
	}}))
	s.stop = func() {
		if err := s.bgp.StopBgp(context.Background(), &api.StopBgpRequest{}); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { s.stop() })
	return s
}

// connect opens a session from each local address, to the fabric's port at the
// remote one.
func (s *sender) connect(t testing.TB, port int, endpoints ...endpoint) {
	t.Helper()
	for _, e := range endpoints {
		must(t, s.bgp.AddPeer(t.Context(), &api.AddPeerRequest{Peer: &api.Peer{
			Conf:      &api.PeerConf{NeighborAddress: e.remote.String(), PeerAsn: fabricAS},
			Transport: &api.Transport{LocalAddress: e.local.String(), RemotePort: uint32(port)},
			AfiSafis:  []*api.AfiSafi{unicast(api.Family_AFI_IP, false), unicast(api.Family_AFI_IP6, false)},
		}}))
	}
}

func (s *sender) announce(t testing.TB, prefix netip.Prefix) {
	t.Helper()
	_, err := s.bgp.AddPath(t.Context(), &api.AddPathRequest{Path: apiPath(t, prefix)})
	must(t, err)
}

// announceAgain sends every route once more, unchanged.
func (s *sender) announceAgain(t testing.TB) {
	t.Helper()
	must(t, s.bgp.ResetPeer(t.Context(), &api.ResetPeerRequest{
		Address: fabricV4.String(), Soft: true, Direction: api.ResetPeerRequest_OUT,
	}))
}

func (s *sender) withdraw(t *testing.T, prefix netip.Prefix) {
	t.Helper()
	must(t, s.bgp.DeletePath(t.Context(), &api.DeletePathRequest{Path: apiPath(t, prefix)}))
}

func apiPath(t testing.TB, prefix netip.Prefix) *api.Path {
	t.Helper()
	nlri := anyOf(t, &api.IPAddressPrefix{Prefix: prefix.Addr().String(), PrefixLen: uint32(prefix.Bits())})
	family := &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST}
	hop := anyOf(t, &api.NextHopAttribute{NextHop: "192.0.2.77"})
	if prefix.Addr().Is6() {
		family.Afi = api.Family_AFI_IP6
		hop = anyOf(t, &api.MpReachNLRIAttribute{Family: family, NextHops: []string{"2001:db8:ffff::77"}, Nlris: []*anypb.Any{nlri}})
	}
	return &api.Path{
		Family: family,
		Nlri:   nlri,
		Pattrs: []*anypb.Any{
			anyOf(t, &api.OriginAttribute{Origin: 0}),
			hop,
			anyOf(t, &api.CommunitiesAttribute{Communities: []uint32{65000<<16 | 1}}),
		},
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
