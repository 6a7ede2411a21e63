package config

import (
	"net/netip"
	"time"
)

// agentOptions are those of [DEFAULT] (config.md §2.1) and [agent] (§2.4).
func agentOptions() []*option {
	return []*option{
		opt(defaultSection, "reconcile_interval", "300", seconds, func(c *Config) *time.Duration { return &c.ReconcileInterval }),
		opt(defaultSection, "frr_reconcile_interval", "15", seconds, func(c *Config) *time.Duration { return &c.FRRReconcileInterval }),
		opt(defaultSection, "driver", DriverSB, choice(DriverSB, DriverEVPN, DriverStretchedL2, DriverNB), func(c *Config) *string { return &c.Driver }),
		opt(defaultSection, "exposing_method", MethodUnderlay, choice(MethodUnderlay, MethodL2VNI, MethodVRF, MethodDynamic, MethodOVN), func(c *Config) *string { return &c.ExposingMethod }),
		opt(defaultSection, "expose_tenant_networks", "False", boolean, func(c *Config) *bool { return &c.ExposeTenantNetworks }),
		opt(defaultSection, "expose_ipv6_gua_tenant_networks", "False", boolean, func(c *Config) *bool { return &c.ExposeIPv6GUATenantNetworks }),
		opt(defaultSection, "advertisement_method_tenant_networks", AdvertiseHost, choice(AdvertiseHost, AdvertiseSubnet), func(c *Config) *string { return &c.AdvertisementMethodTenantNetworks }),
		opt(defaultSection, "require_snat_disabled_for_tenant_networks", "False", boolean, func(c *Config) *bool { return &c.RequireSNATDisabledForTenantNetworks }),
		unset(defaultSection, "address_scopes", list, func(c *Config) *[]string { return &c.AddressScopes }),
		unset(defaultSection, "ovsdb_connection", remote, func(c *Config) *string { return &c.OVSDBConnection }),
		opt(defaultSection, "ovsdb_connection_timeout", "180", seconds, func(c *Config) *time.Duration { return &c.OVSDBConnectionTimeout }),
		opt(defaultSection, "bgp_AS", "64999", asNumber, func(c *Config) *uint32 { return &c.BGPAS }),
		unset(defaultSection, "bgp_router_id", routerID, func(c *Config) *netip.Addr { return &c.BGPRouterID }),
		opt(defaultSection, "bgp_nic", "bgp-nic", device, func(c *Config) *string { return &c.BGPNIC }),
		opt(defaultSection, "bgp_vrf", "bgp-vrf", device, func(c *Config) *string { return &c.BGPVRF }),
		opt(defaultSection, "bgp_vrf_table_id", "10", routingTable, func(c *Config) *uint32 { return &c.BGPVRFTableID }),
		opt(defaultSection, "clear_vrf_routes_on_startup", "False", boolean, func(c *Config) *bool { return &c.ClearVRFRoutesOnStartup }),
		unset(defaultSection, "evpn_local_ip", address, func(c *Config) *netip.Addr { return &c.EVPN.LocalIP }),
		unset(defaultSection, "evpn_nic", device, func(c *Config) *string { return &c.EVPN.NIC }),
		opt(defaultSection, "evpn_udp_dstport", "4789", within[uint16](0, 65535), func(c *Config) *uint16 { return &c.EVPN.UDPDstPort }),
		opt(defaultSection, "delete_vrf_on_disconnect", "True", boolean, func(c *Config) *bool { return &c.EVPN.DeleteVRFOnDisconnect }),
	}
}

// ovnOptions are those of [ovn] (config.md §2.2), which may also stand in [DEFAULT].
func ovnOptions() []*option {
	const key, certificate, ca = "/etc/pki/tls/private/ovn_bgp_agent.key", "/etc/pki/tls/certs/ovn_bgp_agent.crt", "/etc/ipa/ca.crt"
	table := []*option{
		unset(ovnSection, "ovn_sb_connection", remotes, func(c *Config) *[]string { return &c.OVN.SB.Connection }),
		opt(ovnSection, "ovn_sb_private_key", key, text, func(c *Config) *string { return &c.OVN.SB.PrivateKey }),
		opt(ovnSection, "ovn_sb_certificate", certificate, text, func(c *Config) *string { return &c.OVN.SB.Certificate }),
		opt(ovnSection, "ovn_sb_ca_cert", ca, text, func(c *Config) *string { return &c.OVN.SB.CACert }),
		unset(ovnSection, "ovn_nb_connection", remotes, func(c *Config) *[]string { return &c.OVN.NB.Connection }),
		opt(ovnSection, "ovn_nb_private_key", key, text, func(c *Config) *string { return &c.OVN.NB.PrivateKey }),
		opt(ovnSection, "ovn_nb_certificate", certificate, text, func(c *Config) *string { return &c.OVN.NB.Certificate }),
		opt(ovnSection, "ovn_nb_ca_cert", ca, text, func(c *Config) *string { return &c.OVN.NB.CACert }),
	}
	for _, o := range table {
		o.formerly(defaultSection, o.name)
	}
	return table
}

// localOptions are those of [local_ovn_cluster] (config.md §2.3).
func localOptions() []*option {
	return []*option{
		opt(localSection, "ovn_nb_connection", "unix:/var/run/ovn/ovnnb_db.sock", remotes, func(c *Config) *[]string { return &c.LocalOVNCluster.NBConnection }),
		opt(localSection, "external_nics", "", listOf(device), func(c *Config) *[]string { return &c.LocalOVNCluster.ExternalNICs }),
		opt(localSection, "peer_ips", "", listOf(address), func(c *Config) *[]netip.Addr { return &c.LocalOVNCluster.PeerIPs }),
		opt(localSection, "provider_networks_pool_prefixes", "192.168.0.0/16", listOf(prefix), func(c *Config) *[]netip.Prefix { return &c.LocalOVNCluster.ProviderNetworksPoolPrefixes }),
		opt(localSection, "bgp_chassis_id", "bgp", filled, func(c *Config) *string { return &c.LocalOVNCluster.BGPChassisID }),
	}
}

// loggingOptions are those of the logging library that this agent has too.
func loggingOptions() []*option {
	return []*option{
		opt(defaultSection, "debug", "False", boolean, func(c *Config) *bool { return &c.Debug }),
		unset(defaultSection, "log_file", text, func(c *Config) *string { return &c.LogFile }).formerly(defaultSection, "logfile"),
		unset(defaultSection, "log_dir", text, func(c *Config) *string { return &c.logDir }).formerly(defaultSection, "logdir"),
		opt(defaultSection, "use_json", "False", boolean, func(c *Config) *bool { return &c.UseJSON }),
	}
}

// ownOptions are those that only this agent has.
func ownOptions() []*option {
	return []*option{
		opt(defaultSection, "mass_withdraw_guard", "on", boolean, func(c *Config) *bool { return &c.MassWithdrawGuard }),
		opt(defaultSection, "status_socket", "/run/ovn-bgp-agent/status.sock", socketPath, func(c *Config) *string { return &c.StatusSocket }),
	}
}
