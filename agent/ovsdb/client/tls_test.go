package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// authority makes certificates as ovs-pki does: with a common name only.
type authority struct {
	t    *testing.T
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.key = a.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert = a.sign(template, template, a.key)
	a.file = a.write("ca.pem", "CERTIFICATE", a.cert.Raw)
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

func (a *authority) write(name, kind string, der []byte) string {
	a.t.Helper()
	file := filepath.Join(a.dir, name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return file
}

// issue writes a key and a certificate and returns their files.
func (a *authority) issue(name string) (key, cert string) {
	a.t.Helper()
	private := a.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.write(name+"-key.pem", "EC PRIVATE KEY", der),
		a.write(name+"-cert.pem", "CERTIFICATE", a.sign(template, a.cert, private).Raw)
}

var boundPort = regexp.MustCompile(`listening on port (\d+)`)

// secureServer is a server that also listens on TLS; it returns the endpoint.
func secureServer(t *testing.T, a *authority) (*ovsdbServer, string) {
	t.Helper()
	key, cert := a.issue("server")
	s := newServer(t, northboundSchema, "--private-key="+key, "--certificate="+cert, "--ca-cert="+a.file, "--remote=pssl:0:127.0.0.1")
	var port [][]byte
	await(t, "a port in the log", func() bool {
		log, err := os.ReadFile(filepath.Join(s.dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		port = boundPort.FindSubmatch(log)
		return port != nil
	})
	return s, "ssl:127.0.0.1:" + string(port[1])
}

func TestTLS(t *testing.T) {
	a := newAuthority(t)
	s, endpoint := secureServer(t, a)
	config := northbound(s)
	key, cert := a.issue("client")
	config.Endpoints, config.TLS = []string{endpoint}, TLSFiles(key, cert, a.file)
	r := record(t, config)
	r.awaitConnected(1)
	uuid := s.user("OVN_Northbound").insert("Logical_Switch", `{"name":"ls"}`)
	r.barrier()
	if r.row("Logical_Switch", uuid) == nil {
		t.Error("the row did not come")
	}
}

func TestTLSRefusesStrangersUntilCertificatesAreReplaced(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	s, endpoint := secureServer(t, a)
	config := northbound(s)
	key, cert := a.issue("client")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	config.Endpoints, config.TLS = []string{endpoint}, TLSFiles(key, cert, ca)
	r := record(t, config)
	r.awaitError("CA certificate: open")
	install := func(file string) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(ca+".new", raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(ca+".new", ca); err != nil {
			t.Fatal(err)
		}
	}
	install(stranger.file)
	r.awaitError("certificate signed by unknown authority")
	install(a.file)
	r.awaitConnected(1)
}

func TestServerRefusesAStrangersCertificate(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	s, endpoint := secureServer(t, a)
	config := northbound(s)
	key, cert := stranger.issue("client")
	config.Endpoints, config.TLS = []string{endpoint}, TLSFiles(key, cert, a.file)
	r := record(t, config)
	r.awaitError("remote error: tls: ")
}
