package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLSFiles returns a function for [Config.TLS] that reads PEM files anew each time
// it is called: the client's private key and certificate, and the certificates of
// the authorities that may vouch for the server.
//
// As Open vSwitch's own programs do (ovsdb-client(1), --ca-cert), it checks that
// such an authority signed the server's certificate, and not which host name
// that certificate bears: ovs-pki(8) makes certificates without one.
func TLSFiles(privateKey, certificate, caCert string) func() (*tls.Config, error) {
	return func() (*tls.Config, error) {
		own, err := tls.LoadX509KeyPair(certificate, privateKey)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", certificate, privateKey, err)
		}
		pem, err := os.ReadFile(caCert)
		if err != nil {
			return nil, fmt.Errorf("CA certificate: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA certificate %s: no certificate in it", caCert)
		}
		return &tls.Config{
			MinVersion:   tls.VersionTLS12,
			Certificates: []tls.Certificate{own},
			// Replaces the standard check, which insists on a host name.
			InsecureSkipVerify: true,
			VerifyConnection:   func(s tls.ConnectionState) error { return verifyChain(s.PeerCertificates, roots) },
		}, nil
	}
}

func verifyChain(chain []*x509.Certificate, roots *x509.CertPool) error {
	if len(chain) == 0 {
		return fmt.Errorf("the server shows no certificate")
	}
	intermediates := x509.NewCertPool()
	for _, c := range chain[1:] {
		intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err
}
