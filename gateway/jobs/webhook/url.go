package webhook

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"triptych/shared/failure"
)

// mostURL bounds a callback's URL.
const mostURL = 2048

// Validate refuses a URL that Call would never call: Invalid for one that is wrong
// in itself or names a private address, Unsupported where there is no secret to sign
// with. Names are not looked up here, for what they stand for may change.
func (c *Caller) Validate(address string) error {
	if len(c.cfg.Secrets) == 0 && c.cfg.SecretFile == "" {
		return failure.New(failure.Unsupported, "this server has no callbacks: they are signed, and it has no --webhook-secret")
	}
	if len(address) > mostURL {
		return failure.New(failure.Invalid, "callback_url is longer than %d bytes", mostURL)
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Opaque != "":
		return failure.New(failure.Invalid, "callback_url is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return failure.New(failure.Invalid, "callback_url must begin with https:// or http://")
	case u.User != nil:
		return failure.New(failure.Invalid, "callback_url must not have a user or a password")
	case u.Hostname() == "":
		return failure.New(failure.Invalid, "callback_url has no host")
	case !goodPort(u):
		return failure.New(failure.Invalid, "callback_url has a port that there is not")
	}
	return c.validateHost(u.Hostname())
}

// goodPort tells whether the port, if there is one, is one.
func goodPort(u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}

func (c *Caller) validateHost(host string) error {
	if c.cfg.AllowPrivate {
		return nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if public(a) {
			return nil
		}
		return failure.New(failure.Invalid, "callback_url names an address that is not public")
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "localhost" || oddNumber(last) {
		return failure.New(failure.Invalid, "callback_url names an address that is not public")
	}
	return nil
}

// oddNumber tells whether the last part of a name makes it one of the old forms of
// an IPv4 address, such as 127.1 and 0x7f000001, which some resolvers still read.
func oddNumber(last string) bool {
	digits, hex := strings.CutPrefix(last, "0x")
	if hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last == "" || strings.Trim(last, "0123456789") == ""
}
