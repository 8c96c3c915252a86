package webhook_test

import (
	"strings"
	"testing"

	"triptych/gateway/jobs/webhook"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

func caller(t *testing.T, change func(*webhook.Config)) (*webhook.Caller, *telemetry.Telemetry) {
	t.Helper()
	cfg, tel := webhook.DefaultConfig(), telemetry.Discard()
	cfg.Secrets = []string{specSecret}
	if change != nil {
		change(&cfg)
	}
	c, err := webhook.New(cfg, tel)
	if err != nil {
		t.Fatal(err)
	}
	return c, tel
}

func allowPrivate(c *webhook.Config) { c.AllowPrivate = true }

func TestValidate(t *testing.T) {
	t.Parallel()
	const private = "callback_url names an address that is not public"
	strict, _ := caller(t, nil)
	lax, _ := caller(t, allowPrivate)
	for address, tt := range map[string]struct {
		want  string
		local bool // fine where private addresses are allowed
	}{
		"https://example.com/hook?token=x":      {},
		"http://example.com.":                   {},
		"https://sub.example.co.uk:8443/":       {},
		"https://1.1.1.1/":                      {},
		"https://[2606:4700:4700::1111]/":       {},
		"https://xn--bcher-kva.example/":        {},
		"https://a0.example0/":                  {},
		"http://127.0.0.1:9000/":                {private, true},
		"http://[::1]/":                         {private, true},
		"http://[::ffff:10.0.0.1]/":             {private, true},
		"http://169.254.169.254/latest":         {private, true},
		"http://localhost/":                     {private, true},
		"http://LOCALHOST.:80/":                 {private, true},
		"http://a.localhost/":                   {private, true},
		"http://127.1/":                         {private, true},
		"http://2130706433/":                    {private, true},
		"http://0x7f000001/":                    {private, true},
		"http://0x7f.1/":                        {private, true},
		"http://0177.0.0.01/":                   {private, true},
		"http://10.0.0.1./":                     {private, true},
		"http://[fe80::1%25eth0]/":              {private, true},
		"ftp://example.com/":                    {"callback_url must begin with https:// or http://", false},
		"file:///etc/passwd":                    {"callback_url must begin with https:// or http://", false},
		"gopher://example.com/":                 {"callback_url must begin with https:// or http://", false},
		"//example.com/":                        {"callback_url must begin with https:// or http://", false},
		"example.com/hook":                      {"callback_url must begin with https:// or http://", false},
		"http:example.com":                      {"callback_url is not a URL", false},
		"http://exa mple.com/":                  {"callback_url is not a URL", false},
		"http://example.com/\r\nx: y":           {"callback_url is not a URL", false},
		"":                                      {"callback_url must begin with https:// or http://", false},
		"http://user:pass@example.com/":         {"callback_url must not have a user or a password", false},
		"http://user@127.0.0.1/":                {"callback_url must not have a user or a password", false},
		"http:///path":                          {"callback_url has no host", false},
		"http://:80/":                           {"callback_url has no host", false},
		"http://example.com:0/":                 {"callback_url has a port that there is not", false},
		"http://example.com:65536/":             {"callback_url has a port that there is not", false},
		"http://e/" + strings.Repeat("x", 2048): {"callback_url is longer than 2048 bytes", false},
	} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			check(t, strict.Validate(address), tt.want, failure.Invalid)
			if tt.local {
				tt.want = ""
			}
			check(t, lax.Validate(address), tt.want, failure.Invalid)
		})
	}
	none, _ := caller(t, func(c *webhook.Config) { c.Secrets = nil })
	check(t, none.Validate("https://example.com"), "this server has no callbacks: they are signed, and it has no --webhook-secret", failure.Unsupported)
}

// check wants a failure with a message, or none.
func check(t *testing.T, err error, want string, kind failure.Kind) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if err == nil || failure.Message(err) != want || failure.KindOf(err) != kind {
		t.Errorf("%v, want %s %q", err, kind, want)
	}
}
