package webhook_test

import (
	"net/netip"
	"testing"

	"triptych/gateway/jobs/webhook"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"1.1.1.1":         true,
		"93.184.216.34":   true,
		"172.15.255.255":  true,
		"172.32.0.0":      true,
		"100.63.255.255":  true,
		"100.128.0.0":     true,
		"223.255.255.255": true,
		"168.63.129.17":   true,

		"0.0.0.0":         false,
		"0.1.2.3":         false,
		"10.0.0.1":        false,
		"100.64.0.1":      false, // of carriers (CGNAT)
		"100.100.100.200": false, // metadata of a cloud
		"127.0.0.1":       false,
		"127.255.255.254": false,
		"169.254.0.1":     false,
		"169.254.169.254": false, // metadata of most clouds
		"168.63.129.16":   false, // and of one more
		"172.16.0.1":      false,
		"172.31.255.255":  false,
		"192.0.0.192":     false,
		"192.0.2.1":       false,
		"192.88.99.1":     false,
		"192.168.1.1":     false,
		"198.18.0.1":      false,
		"198.51.100.1":    false,
		"203.0.113.1":     false,
		"224.0.0.1":       false,
		"239.255.255.255": false,
		"240.0.0.1":       false,
		"255.255.255.255": false,

		"2606:4700:4700::1111": true,
		"2a00:1450:4001::1":    true,
		"2001:4860:4860::8888": true,

		"::":                       false,
		"::1":                      false,
		"::10.0.0.1":               false, // the old "compatible" form
		"::ffff:10.0.0.1":          false,
		"::ffff:127.0.0.1":         false,
		"::ffff:169.254.169.254":   false,
		"::ffff:1.1.1.1":           true,
		"::ffff:0:7f00:1":          false, // the "translated" form
		"64:ff9b::10.0.0.1":        false,
		"64:ff9b::169.254.169.254": false,
		"64:ff9b::1.1.1.1":         true,
		"64:ff9b:1::1.1.1.1":       false,
		"2002:7f00:1::":            false,
		"2002:a9fe:a9fe::1":        false,
		"2002:c0a8:101::1":         false,
		"2002:101:101::1":          true,
		"2001::1":                  false, // Teredo
		"2001:db8::1":              false,
		"3fff::1":                  false,
		"100::1":                   false,
		"5f00::1":                  false,
		"fc00::1":                  false,
		"fd00:ec2::254":            false, // metadata of a cloud
		"fe80::1":                  false,
		"fe80::1%eth0":             false,
		"2606:4700::1%eth0":        false,
		"fec0::1":                  false,
		"ff02::1":                  false,
		"4000::1":                  false,
	} {
		if got := webhook.Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is public: %t, want %t", address, got, want)
		}
	}
}
