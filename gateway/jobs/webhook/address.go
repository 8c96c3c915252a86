package webhook

import (
	"context"
	"net/netip"
	"syscall"

	"triptych/shared/failure"
)

// control sees each address before it is dialled, after every look-up of a name:
// a name that was public when the job came and is not now leads nowhere.
func (c *Caller) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return failure.Wrap(err, failure.Forbidden, "the callback's address can't be read")
	}
	if c.cfg.AllowPrivate || public(at.Addr()) {
		return nil
	}
	return failure.New(failure.Forbidden, "the callback's name stands for an address that is not public")
}

// forbidden4 are the blocks of IANA's registry of special IPv4 addresses, multicast,
// and one public address behind which a cloud serves its machines' secrets.
func forbidden4() []netip.Prefix {
	return prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3", "168.63.129.16/32")
}

// forbidden6 are those of IPv6 inside the part that is routed at all, 2000::/3.
func forbidden6() []netip.Prefix {
	return prefixes("2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20")
}

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// public tells whether an address is one of the public internet. An IPv6 address
// that stands for one of IPv4 is judged by that.
func public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	if v4, ok := inner(a); ok {
		return !within(v4, forbidden4())
	}
	return netip.MustParsePrefix("2000::/3").Contains(a) && !within(a, forbidden6())
}

// inner is the IPv4 address that a is or stands for: mapped, of NAT64's well-known
// prefix, or of 6to4. Other forms, such as Teredo, are not public at all.
func inner(a netip.Addr) (netip.Addr, bool) {
	a = a.Unmap()
	if a.Is4() {
		return a, true
	}
	bytes := a.As16()
	if netip.MustParsePrefix("64:ff9b::/96").Contains(a) {
		return netip.AddrFrom4([4]byte(bytes[12:])), true
	}
	if netip.MustParsePrefix("2002::/16").Contains(a) {
		return netip.AddrFrom4([4]byte(bytes[2:6])), true
	}
	return netip.Addr{}, false
}

func within(a netip.Addr, blocks []netip.Prefix) bool {
	for _, block := range blocks {
		if block.Contains(a) {
			return true
		}
	}
	return false
}
