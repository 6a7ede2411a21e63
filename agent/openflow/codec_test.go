package openflow

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ovn-bgp-agent/agent/node"
)

func TestTweak(t *testing.T) {
	for _, c := range []struct {
		ofport int
		v6     bool
		match  string
	}{
		{1, false, "ip,in_port=1"},
		{1, true, "ipv6,in_port=1"},
		{65279, false, "ip,in_port=65279"},
		{70000, false, "ip,in_port=70000"},
		{65534, true, "ipv6,in_port=LOCAL"},
	} {
		key, actions := Tweak("br-ex", c.ofport, c.v6, mac)
		if want := (node.Flow{Bridge: "br-ex", Priority: 900, Match: c.match}); key != want {
			t.Errorf("got %v, want %v", key, want)
		}
		if want := "mod_dl_dst:" + mac + ",NORMAL"; actions != want {
			t.Errorf("got %s, want %s", actions, want)
		}
		oxms, err := parseMatch(key.Match)
		if err != nil || matchText(oxms) != c.match {
			t.Errorf("%s is read back as %s (%v)", c.match, matchText(oxms), err)
		}
	}
}

func TestMatchText(t *testing.T) {
	for _, c := range []struct{ name, oxms, text string }{
		{"nothing", "", ""},
		{"tweak", "80000004" + "00000001" + "80000a02" + "0800", "ip,in_port=1"},
		{"port of 32 bits", "80000004" + "00012345", "in_port=74565"},
		{"reserved port", "80000004" + "fffffffe", "in_port=LOCAL"},
		{"reserved port without a name", "80000004" + "ffffff05", "raw:80000004ffffff05"},
		{"order of Open vSwitch only", "80000a02" + "0800" + "80000004" + "00000001", "raw:80000a0208008000000400000001"},
		{"other ethernet type", "80000a02" + "88cc", "raw:80000a0288cc"},
		{"network", "80000a02" + "0800" + "80001908" + "ac180400" + "ffffff00", "ip,nw_dst=172.24.4.0/24"},
		{"mask with a hole", "80001908" + "ac180400" + "ff00ff00", "raw:80001908ac180400ff00ff00"},
		{"cut short", "80000004" + "0000", "raw:800000040000"},
		{"other class", "00010004" + "00000001", "raw:0001000400000001"},
		{"wrong length", "80000a03" + "080000", "raw:80000a03080000"},
		{"same field twice", "80000a02" + "0800" + "80000a02" + "0800", "raw:80000a02080080000a020800"},
	} {
		oxms, err := hex.DecodeString(c.oxms)
		if err != nil {
			t.Fatal(err)
		}
		if got := matchText(oxms); got != c.text {
			t.Errorf("%s: got %q, want %q", c.name, got, c.text)
		}
		if again, err := parseMatch(c.text); err != nil || !bytes.Equal(again, oxms) {
			t.Errorf("%s: %q is parsed to %x (%v), want %x", c.name, c.text, again, err, oxms)
		}
	}
}

func TestParseActionsRefuses(t *testing.T) {
	for _, text := range []string{"", "drop", "mod_dl_dst:1", "mod_dl_dst:00:00:00:00:00:00:00:01,NORMAL", "output:0", "output:x", "normal", "raw:00"} {
		if _, err := parseActions(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestHelloVersions(t *testing.T) {
	for _, c := range []struct {
		name    string
		version byte
		body    string
		want    string
	}{
		{"bitmap", 6, "00010008" + "00000052", "OpenFlow10,OpenFlow13,OpenFlow15"},
		{"bitmap after another element", 6, "0002000600000000" + "00010008" + "00000010", "OpenFlow13"},
		{"header only", 4, "", "OpenFlow10,OpenFlow11,OpenFlow12,OpenFlow13"},
		{"broken element", 1, "0001", "OpenFlow10"},
		{"element of length zero", 1, "00010000", "OpenFlow10"},
		{"empty bitmap", 4, "0001000800000000", "none"},
	} {
		body, err := hex.DecodeString(c.body)
		if err != nil {
			t.Fatal(err)
		}
		if got := protocols(helloVersions(message{version: c.version, body: body})); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestErrorNames(t *testing.T) {
	for _, c := range []struct {
		body []byte
		want string
	}{
		{[]byte{0, 5, 0, 1}, "OpenFlow error OFPET_FLOW_MOD_FAILED OFPFMFC_TABLE_FULL"},
		{[]byte{0, 5, 1, 1}, "OpenFlow error OFPET_FLOW_MOD_FAILED code 257"},
		{[]byte{0xff, 0xff, 0, 1}, "OpenFlow error type 65535 code 1"},
		{[]byte{0}, "OpenFlow error message of 1 bytes"},
	} {
		if got := decodeError(c.body).Error(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestEchoIsAnswered plays the switch: it sends an echo request and a message that
// nobody asked for before it answers.
func TestEchoIsAnswered(t *testing.T) {
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, "br.mgmt"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	played := make(chan error, 1)
	go func() { played <- playSwitch(listener) }()
	s, _ := (&vswitch{t: t, dir: dir}).switches(patience)
	if state := read(t, s, "br"); len(state) != 0 {
		t.Errorf("got %v", state)
	}
	if err := <-played; err != nil {
		t.Error(err)
	}
}

func playSwitch(listener net.Listener) error {
	stream, err := listener.Accept()
	if err != nil {
		return err
	}
	if err := stream.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	send := func(m message) error {
		_, err := stream.Write(m.encode())
		return err
	}
	if _, err := readMessage(stream); err != nil {
		return err
	}
	if err := send(message{version: version14, kind: typeHello}); err != nil {
		return err
	}
	request, err := readMessage(stream)
	if err != nil {
		return err
	}
	if err := send(message{version: version14, kind: typeEchoRequest, xid: 77, body: []byte("hello")}); err != nil {
		return err
	}
	reply, err := readMessage(stream)
	if err != nil {
		return err
	}
	if reply.kind != typeEchoReply || reply.xid != 77 || string(reply.body) != "hello" {
		return fmt.Errorf("echo reply %+v", reply)
	}
	const packetIn = 10
	if err := send(message{version: version14, kind: packetIn, xid: 0, body: make([]byte, 24)}); err != nil {
		return err
	}
	return send(message{version: version14, kind: typeMultipartReply, xid: request.xid, body: []byte{0, 1, 0, 0, 0, 0, 0, 0}})
}

func TestReadMessage(t *testing.T) {
	whole := message{version: version13, kind: typeHello, xid: 9, body: []byte{1, 2, 3}}
	got, err := readMessage(bytes.NewReader(whole.encode()))
	if err != nil || got.xid != 9 || !bytes.Equal(got.body, whole.body) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := readMessage(strings.NewReader("\x04\x00\x00\x07\x00\x00\x00\x00")); err == nil {
		t.Error("a length below the header's was accepted")
	}
	if _, err := readMessage(bytes.NewReader(whole.encode()[:10])); err == nil {
		t.Error("a message cut short was accepted")
	}
}

// FuzzDecode: nothing that a switch sends panics, and a match is written so that
// the same bytes come back.
func FuzzDecode(f *testing.F) {
	oxms, err := parseMatch("ip,in_port=1,nw_dst=172.24.4.0/24")
	if err != nil {
		f.Fatal(err)
	}
	actions, err := parseActions("mod_dl_dst:" + mac + ",NORMAL,output:3")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(flowStats(oxms, actions))
	f.Add(oxms)
	f.Add(actions)
	f.Add(hello().body)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, sent := range [][]byte{b, append([]byte{0, 1, 0, 0, 0, 0, 0, 0}, b...), flowStats(b[:min(len(b), 1000)], b)} {
			flows, err := decodeFlows(sent)
			for _, got := range flows {
				if _, perr := parseMatch(got.match); perr != nil || err != nil {
					t.Errorf("match %q: %v %v", got.match, perr, err)
				}
			}
		}
		if again, err := parseMatch(matchText(b)); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%x is written %q and read %x (%v)", b, matchText(b), again, err)
		}
		if text, ok := namedActions(b); ok && !strings.Contains(text, "CONTROLLER") {
			if _, err := parseActions(text); err != nil && !strings.Contains(err.Error(), "port") {
				t.Errorf("actions %q: %v", text, err)
			}
		}
		helloVersions(message{version: byte(len(b)), body: b})
		_, _ = readMessage(bytes.NewReader(b))
		_ = decodeError(b).Error()
	})
}

// flowStats is a flow statistics reply of one flow.
func flowStats(oxms, instructions []byte) []byte {
	b := make([]byte, flowStatsLen)
	b = append(appendMatch(b, oxms), instructions...)
	binary.BigEndian.PutUint16(b, uint16(len(b)))
	return append([]byte{0, 1, 0, 0, 0, 0, 0, 0}, b...)
}
