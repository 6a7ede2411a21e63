// Package config reads bgp-agent.conf: the INI dialect of oslo.config, its search
// paths, its environment variables and its options, as OpenStack's ovn-bgp-agent
// has them (config.md §1, §2), so that a node's file serves both agents.
//
// Unlike there, every option is checked when the agent starts, all that is wrong is
// told at once, and what this version cannot do is refused rather than ignored.
package config

import (
	"errors"
	"net/netip"
	"slices"
	"time"
)

// The drivers (option driver).
const (
	DriverSB          = "ovn_bgp_driver"
	DriverNB          = "nb_ovn_bgp_driver"
	DriverStretchedL2 = "ovn_stretched_l2_bgp_driver"
	DriverEVPN        = "ovn_evpn_driver"
)

// The exposing methods (option exposing_method).
const (
	MethodUnderlay = "underlay"
	MethodL2VNI    = "l2vni"
	MethodVRF      = "vrf"
	MethodDynamic  = "dynamic"
	MethodOVN      = "ovn"
)

// The ways to advertise tenant networks (option
// advertisement_method_tenant_networks).
const (
	AdvertiseHost   = "host"
	AdvertiseSubnet = "subnet"
)

// Config are the options of the agent, checked (config.md §2). A field is named
// after its option.
type Config struct {
	Driver         string // Driver…
	ExposingMethod string // Method…

	ReconcileInterval    time.Duration // at least 1 s
	FRRReconcileInterval time.Duration // at least 1 s

	ExposeTenantNetworks                 bool
	ExposeIPv6GUATenantNetworks          bool
	AdvertisementMethodTenantNetworks    string // Advertise…
	RequireSNATDisabledForTenantNetworks bool
	AddressScopes                        []string // empty: no filter

	// OVSDBConnection is the remote of the local Open_vSwitch database. If the option
	// is unset it is the socket of a packaged Open vSwitch or, where only that exists,
	// of a self-built one.
	OVSDBConnection        string
	OVSDBConnectionTimeout time.Duration // of one transaction

	BGPAS                   uint32
	BGPRouterID             netip.Addr // zero: FRR's own
	BGPNIC                  string
	BGPVRF                  string
	BGPVRFTableID           uint32
	ClearVRFRoutesOnStartup bool

	EVPN            EVPN
	OVN             OVN
	LocalOVNCluster LocalOVNCluster

	Debug   bool
	LogFile string // below log_dir if that is set; empty: standard error
	UseJSON bool

	// MassWithdrawGuard is an option of this agent alone: hold back the withdrawal of
	// most prefixes after a reconnect or at start.
	MassWithdrawGuard bool
	// StatusSocket is an option of this agent alone: the path where it answers requests.
	StatusSocket string

	logDir string
}

// EVPN are the options of the exposing method vrf and the EVPN driver.
type EVPN struct {
	LocalIP               netip.Addr // zero: unset
	NIC                   string
	UDPDstPort            uint16
	DeleteVRFOnDisconnect bool
}

// OVN are OpenStack's OVN databases, section [ovn].
type OVN struct {
	SB, NB Database
}

// Database tells how an OVN database is reached.
type Database struct {
	// Connection are the remotes in the notation of ovsdb(7); empty: as external_ids of
	// Open_vSwitch say.
	Connection []string
	// The paths of the PEM files for remotes with ssl:.
	PrivateKey, Certificate, CACert string
}

// LocalOVNCluster is the node's own OVN (exposing method ovn), section
// [local_ovn_cluster].
type LocalOVNCluster struct {
	NBConnection                 []string
	ExternalNICs                 []string
	PeerIPs                      []netip.Addr
	ProviderNetworksPoolPrefixes []netip.Prefix
	BGPChassisID                 string
}

// Sources is where the configuration comes from.
type Sources struct {
	// Files are those of --config-file, in order: later ones win. Without any, the
	// places that oslo.config searches are read (config.md §1).
	Files []string
	// Dirs are those of --config-dir: all *.conf in each, sorted, after the files.
	// Without any, the places that oslo.config searches are read.
	Dirs []string
	// Env is the environment, as of os.Environ: OS_<SECTION>__<OPTION> wins over
	// files. HOME is where the search begins.
	Env []string
}

// Load reads, checks and converts the configuration. Its error joins a [Problem] for
// all that is wrong, in the order of the files. Warnings tell what is ignored.
func Load(s Sources) (*Config, []Warning, error) {
	return load(s, host{})
}

func load(s Sources, h host) (*Config, []Warning, error) {
	files, problems := h.read(s)
	r := newResolver(options(), files, environment(s.Env))
	c := &Config{}
	r.fill(c)
	h.complete(c)
	r.compare(c)
	r.refuse(c)
	r.warn()
	problems = append(problems, r.problems...)
	if len(problems) == 0 {
		return c, r.sortedWarnings(), nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.at.compare(b.at) })
	joined := make([]error, len(problems))
	for i, p := range problems {
		joined[i] = p
	}
	return nil, r.sortedWarnings(), errors.Join(joined...)
}
