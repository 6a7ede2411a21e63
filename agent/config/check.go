package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const unsupported = "not implemented in this version"

// compare checks what depends on more than one option, and derives the log file.
func (r *resolver) compare(c *Config) {
	if c.BGPNIC == c.BGPVRF && c.BGPNIC != "" {
		at := place{defaultSection, "bgp_nic"}
		if !r.isGiven(at) {
			at.name = "bgp_vrf"
		}
		r.wrongAt(at, "bgp_nic and bgp_vrf must be different devices")
	}
	switch {
	case c.logDir == "":
	case c.LogFile == "":
		c.LogFile = filepath.Join(c.logDir, "ovn-bgp-agent.log")
	case !filepath.IsAbs(c.LogFile):
		c.LogFile = filepath.Join(c.logDir, c.LogFile)
	}
	r.compareTLS(c)
}

// compareTLS wants all three files where a remote is ssl:, whichever of several it
// is (config.md C9), and says now what will keep it from connecting.
func (r *resolver) compareTLS(c *Config) {
	prefix, database := "ovn_sb_", c.OVN.SB
	if c.Driver == DriverNB {
		prefix, database = "ovn_nb_", c.OVN.NB
	}
	remotes := append([]string{c.OVSDBConnection}, database.Connection...)
	if !slices.ContainsFunc(remotes, func(s string) bool { return strings.HasPrefix(s, "ssl:") }) {
		return
	}
	for _, f := range []struct{ option, path string }{
		{"private_key", database.PrivateKey}, {"certificate", database.Certificate}, {"ca_cert", database.CACert},
	} {
		at := place{ovnSection, prefix + f.option}
		if f.path == "" {
			r.wrongAt(at, "must name a file: a remote is ssl:")
			continue
		}
		if _, err := os.Stat(f.path); err != nil {
			r.cautionAt(at, fmt.Sprintf("the remotes with ssl: cannot be reached yet: %v", err))
		}
	}
}

// refuse names what this version cannot do, or what never worked.
func (r *resolver) refuse(c *Config) {
	switch c.Driver {
	case DriverStretchedL2, DriverEVPN:
		r.wrongAt(place{defaultSection, "driver"}, fmt.Sprintf("%s; %s and %s are", unsupported, DriverSB, DriverNB))
	default: // a mistyped one too, so that all is told at once
		r.refuseMethod(c)
		r.refuseTenants(c)
	}
	if c.ClearVRFRoutesOnStartup {
		r.wrongAt(place{defaultSection, "clear_vrf_routes_on_startup"}, unsupported)
	}
}

// refuseMethod: the Southbound driver knows only underlay, and no driver has any
// wiring for l2vni and dynamic (config.md C2).
func (r *resolver) refuseMethod(c *Config) {
	at := place{defaultSection, "exposing_method"}
	switch c.ExposingMethod {
	case MethodL2VNI, MethodDynamic:
		r.wrongAt(at, "there is no wiring for this method: no agent has ever worked with it")
	case MethodVRF, MethodOVN:
		if c.Driver == DriverSB {
			r.wrongAt(at, fmt.Sprintf("%s works with %s only", DriverSB, MethodUnderlay))
			return
		}
		r.wrongAt(at, fmt.Sprintf("%s; %s is", unsupported, MethodUnderlay))
	}
}

func (r *resolver) refuseTenants(c *Config) {
	if c.ExposeTenantNetworks {
		r.wrongAt(place{defaultSection, "expose_tenant_networks"}, unsupported)
	}
	if c.ExposeIPv6GUATenantNetworks {
		r.wrongAt(place{defaultSection, "expose_ipv6_gua_tenant_networks"}, unsupported)
	}
	tenants := c.ExposeTenantNetworks || c.ExposeIPv6GUATenantNetworks
	if tenants && c.AdvertisementMethodTenantNetworks == AdvertiseSubnet {
		r.wrongAt(place{defaultSection, "advertisement_method_tenant_networks"}, unsupported)
	}
}
