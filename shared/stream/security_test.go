package stream_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// authority signs certificates for one test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.key = newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.file = writePEM(t, "CERTIFICATE", der)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sign makes a certificate of loopback, for a server or a client, and its key.
func (a *authority) sign() (cert, key string) {
	a.t.Helper()
	k := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "one"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &k.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return writePEM(a.t, "CERTIFICATE", der), writePEM(a.t, "EC PRIVATE KEY", keyDER)
}

// secured is a server that shows a certificate and wants one.
func secured(t *testing.T, a *authority) string {
	t.Helper()
	cert, key := a.sign()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	_, url := natstest.Outer(t, func(o *natsserver.Options) {
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13}
		o.TLSTimeout = 5
	})
	return "tls://" + strings.TrimPrefix(strings.TrimPrefix(url, "nats://"), "tls://")
}

func TestTLS(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	url := secured(t, a)
	cert, key := a.sign()
	strangers := newAuthority(t)
	strangeCert, strangeKey := strangers.sign()
	tests := map[string]struct {
		change func(*stream.Config)
		in     bool
	}{
		"all is right":             {func(c *stream.Config) { c.CA, c.Certificate, c.Key = a.file, cert, key }, true},
		"no certificate":           {func(c *stream.Config) { c.CA = a.file }, false},
		"no authority":             {func(c *stream.Config) { c.Certificate, c.Key = cert, key }, false},
		"another's authority":      {func(c *stream.Config) { c.CA, c.Certificate, c.Key = strangers.file, cert, key }, false},
		"a stranger's certificate": {func(c *stream.Config) { c.CA, c.Certificate, c.Key = a.file, strangeCert, strangeKey }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := natstest.Connect(t, func(c *stream.Config) { c.URL = url }, test.change)
			if !test.in {
				testkit.Eventually(t, 10*time.Second, "it is not let in", func() bool { return strings.Contains(c.Ready().Error(), "tls") })
				return
			}
			if err := c.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.Ensure(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The certificates are read again each time, so that they can be replaced.
func TestCertificatesAreReplaced(t *testing.T) {
	t.Parallel()
	a, strangers := newAuthority(t), newAuthority(t)
	url := secured(t, a)
	cert, key := strangers.sign()
	c := natstest.Connect(t, func(c *stream.Config) { c.URL, c.CA, c.Certificate, c.Key = url, a.file, cert, key })
	testkit.Eventually(t, 10*time.Second, "it is not let in", func() bool { return strings.Contains(c.Ready().Error(), "tls") })
	rightCert, rightKey := a.sign()
	for from, to := range map[string]string{rightKey: key, rightCert: cert} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, 20*time.Second, "it is let in", func() bool { return c.Ready() == nil })
}

// operator is a server whose users have JWTs, and a file with those of one of them.
func operator(t *testing.T) (url, credentials string, sign func() string) {
	t.Helper()
	create := func(generate func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		pair, err := generate()
		if err != nil {
			t.Fatal(err)
		}
		public, err := pair.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return pair, public
	}
	op, opKey := create(nkeys.CreateOperator)
	account, accountKey := create(nkeys.CreateAccount)
	_, systemKey := create(nkeys.CreateAccount)
	encode := func(text string, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	claims := jwt.NewAccountClaims(accountKey)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1}
	resolver := &natsserver.MemAccResolver{}
	if err := resolver.Store(accountKey, encode(claims.Encode(op))); err != nil {
		t.Fatal(err)
	}
	if err := resolver.Store(systemKey, encode(jwt.NewAccountClaims(systemKey).Encode(op))); err != nil {
		t.Fatal(err)
	}
	operatorClaims := jwt.NewOperatorClaims(opKey)
	operatorClaims.SystemAccount = systemKey
	_, url = natstest.Outer(t, func(o *natsserver.Options) {
		o.TrustedOperators = []*jwt.OperatorClaims{operatorClaims}
		o.AccountResolver, o.SystemAccount = resolver, systemKey
	})
	credentials = filepath.Join(t.TempDir(), "user.creds")
	sign = func() string {
		user, userKey := create(nkeys.CreateUser)
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		text, err := jwt.FormatUserConfig(encode(jwt.NewUserClaims(userKey).Encode(account)), seed)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return url, credentials, sign
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	url, credentials, sign := operator(t)
	_, _, others := operator(t)
	if err := os.WriteFile(credentials, []byte(others()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := natstest.Connect(t, func(c *stream.Config) { c.URL, c.Credentials = url, credentials })
	testkit.Eventually(t, 10*time.Second, "it is not let in", func() bool { return strings.Contains(c.Ready().Error(), "uthorization") })
	// They are replaced, long after a client would have given up.
	if err := os.WriteFile(credentials, []byte(sign()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Ensure(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSettingsThatCantBeUsed(t *testing.T) {
	t.Parallel()
	absent := filepath.Join(t.TempDir(), "absent")
	for name, change := range map[string]func(*stream.Config){
		"no certificate": func(c *stream.Config) { c.Certificate, c.Key = absent, absent },
		"no authority":   func(c *stream.Config) { c.CA = absent },
		"no credentials": func(c *stream.Config) { c.Credentials = absent },
	} {
		cfg := stream.DefaultConfig()
		cfg.URL = "nats://127.0.0.1:1"
		change(&cfg)
		c, err := stream.Connect(cfg, "test", telemetry.Discard())
		if err == nil {
			c.Close()
		}
		if err == nil || failure.KindOf(err) != failure.Invalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
