package webhook

import (
	"net"
	"net/netip"
)

// Public is public.
func Public(a netip.Addr) bool { return public(a) }

// Sign is sign with secrets as flags have them.
func Sign(id, timestamp string, body []byte, secrets ...string) (string, error) {
	keys := make([]key, 0, len(secrets))
	for _, secret := range secrets {
		k, err := parseSecret("webhook-secret", secret)
		if err != nil {
			return "", err
		}
		keys = append(keys, k)
	}
	return sign(keys, id, timestamp, body), nil
}

// Resolve makes c look names up elsewhere.
func (c *Caller) Resolve(r *net.Resolver) { c.dialer.Resolver = r }
