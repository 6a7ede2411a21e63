package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

// What package unix lacks of linux/fib_rules.h.
const (
	fraDSCP      = 25
	fraFlowLabel = 26
)

// rule is a policy rule. Plain says that it is "PRIORITY: from all to DST lookup
// TABLE" and nothing else.
type rule struct {
	dst      netip.Prefix
	table    uint32
	priority uint32
	plain    bool
}

func decodeRule(message []byte) (rule, bool) {
	if len(message) < sizeofRuleHeader {
		return rule{}, false
	}
	header := nl.DeserializeRtMsg(message) // fib_rule_hdr has this layout
	if _, ip := unspecified(header.Family); !ip {
		return rule{}, false
	}
	r := rule{table: uint32(header.Table)}
	r.plain = header.Type == nl.FR_ACT_TO_TBL && header.Flags&unix.FIB_RULE_INVERT == 0 &&
		header.Tos == 0 && header.Dst_len > 0
	for kind, value := range attributes(message[sizeofRuleHeader:]) {
		switch kind {
		case nl.FRA_DST:
			r.dst = netip.PrefixFrom(addressOf(value), int(header.Dst_len))
		case nl.FRA_TABLE:
			r.table = uint32Of(value)
		case nl.FRA_PRIORITY:
			r.priority = uint32Of(value)
		case nl.FRA_SUPPRESS_PREFIXLEN, nl.FRA_SUPPRESS_IFGROUP:
			r.plain = r.plain && uint32Of(value) == math.MaxUint32
		case nl.FRA_SRC, nl.FRA_IIFNAME, nl.FRA_OIFNAME, nl.FRA_FWMARK, nl.FRA_FWMASK, nl.FRA_TUN_ID, nl.FRA_UID_RANGE,
			nl.FRA_IP_PROTO, nl.FRA_SPORT_RANGE, nl.FRA_DPORT_RANGE, fraDSCP, fraFlowLabel:
			r.plain = false
		}
	}
	return r, true
}

func (k *Kernel) readRules(ctx context.Context) ([]rule, error) {
	header := &nl.RtMsg{}
	rules, err := dump(ctx, k.conn, request(unix.RTM_GETRULE, 0, header), unix.RTM_NEWRULE, decodeRule)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	return rules, nil
}

// ruleRequest always names the priority: without one the kernel chooses it, and
// on a removal takes the first rule that fits. Host bits of the destination are
// sent as they are; the kernel keeps them.
func ruleRequest(command, flags int, r node.Rule) *nl.NetlinkRequest {
	header := &nl.RtMsg{RtMsg: unix.RtMsg{
		Family: family(r.Dst.Addr()), Dst_len: uint8(r.Dst.Bits()), Table: headerTable(r.Table), Type: nl.FR_ACT_TO_TBL,
	}}
	return request(command, flags, header,
		attribute(nl.FRA_DST, r.Dst.Addr().AsSlice()),
		uint32Attribute(nl.FRA_PRIORITY, node.RulePriority),
		uint32Attribute(nl.FRA_TABLE, r.Table))
}

// headerTable is the table in the 8 bits of a header; greater numbers are only in
// the attribute.
func headerTable(table uint32) uint8 {
	if table > math.MaxUint8 {
		return unix.RT_TABLE_UNSPEC
	}
	return uint8(table)
}

func (k *Kernel) makeRule(ctx context.Context, r node.Rule) error {
	err := k.write(node.KindRule, ruleRequest(unix.RTM_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, r))
	if errors.Is(err, unix.EEXIST) {
		return k.checkRule(ctx, r, err)
	}
	return err
}

// checkRule tells whether the rule exists: for the kernel one that also selects by
// source or is inverted is the same.
func (k *Kernel) checkRule(ctx context.Context, r node.Rule, exists error) error {
	rules, err := k.readRules(ctx)
	if err != nil {
		return err
	}
	for _, found := range rules {
		if found.plain && found.priority == node.RulePriority && found.dst == r.Dst && found.table == r.Table {
			return nil
		}
	}
	return fmt.Errorf("a rule with more selectors takes its place: %w", exists)
}

// removeRule: the kernel takes the first rule that fits, be it one with more
// selectors.
func (k *Kernel) removeRule(r node.Rule) error {
	return tolerate(k.write(node.KindRule, ruleRequest(unix.RTM_DELRULE, 0, r)), unix.ENOENT)
}
