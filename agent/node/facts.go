package node

// Link is what the kernel says of a network device.
type Link struct {
	Index  int
	Type   string // kernel type, such as "openvswitch", "vrf", "vlan", "tun"
	MAC    string // lower-case colon notation
	Up     bool   // IFF_UP
	Parent string // VLAN: the device below
	VLAN   uint16 // VLAN: the 802.1Q id
	Table  uint32 // VRF: its table
	Master string
}

// Facts are what a node has and the agent does not decide, read together with
// the actual [State].
type Facts struct {
	Links      map[string]Link
	RTTables   map[string]uint32   // first number of each name in /etc/iproute2/rt_tables
	UsedTables map[uint32]struct{} // every number in rt_tables, and every table with a route or a rule in the kernel
	Forwarding map[string]bool     // net.ipv4.ip_forward and net.ipv6.conf.all.forwarding
}
