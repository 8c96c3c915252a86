package webhook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triptych/gateway/jobs/webhook"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

// specSecret is the secret of the example of Standard Webhooks.
const specSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// The example that the libraries of Standard Webhooks test with; the signatures were
// made by openssl dgst -sha256 -mac HMAC.
func TestSign(t *testing.T) {
	t.Parallel()
	const id, timestamp, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", `{"test": 2432232314}`
	const ofSpec, ofText = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", "v1,XDqFwRAg81wkMV22CraqXn9jIr8xYUbLRq5vdbpDI9E="
	for name, tt := range map[string]struct {
		secrets []string
		want    string
	}{
		"base64":         {[]string{specSecret}, ofSpec},
		"text":           {[]string{"a secret of twenty-four b"}, ofText},
		"two, to rotate": {[]string{specSecret, "a secret of twenty-four b"}, ofSpec + " " + ofText},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := webhook.Sign(id, timestamp, []byte(body), tt.secrets...)
			if err != nil || got != tt.want {
				t.Errorf("%s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*webhook.Config)
		want   string
	}{
		"default":       {func(*webhook.Config) {}, ""},
		"good":          {func(c *webhook.Config) { c.Secrets = []string{specSecret, specSecret + "=="} }, ""},
		"not base64":    {func(c *webhook.Config) { c.Secrets = []string{"whsec_!"} }, "--webhook-secret has a secret that begins with whsec_ and is not base64"},
		"short":         {func(c *webhook.Config) { c.Secrets = []string{"hunter2"} }, "--webhook-secret has a secret of 7 bytes, must be 24 or more"},
		"short, base64": {func(c *webhook.Config) { c.Secrets = []string{"whsec_aGVsbG8="} }, "--webhook-secret has a secret of 5 bytes, must be 24 or more"},
		"no time":       {func(c *webhook.Config) { c.Timeout = 0 }, "--webhook-timeout is 0s, must be more than 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := webhook.DefaultConfig()
			tt.change(&cfg)
			err := cfg.Validate()
			if (err == nil) != (tt.want == "") || (err != nil && failure.Message(err) != tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestSecretFile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ content, want string }{
		"good":      {"\n" + specSecret + "\n" + strings.Repeat("x", 24) + "\n", ""},
		"empty":     {"\n", "--webhook-secret-file has no secret"},
		"one short": {specSecret + "\nshort\n", "--webhook-secret-file has a secret of 5 bytes, must be 24 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := webhook.DefaultConfig()
			cfg.SecretFile = filepath.Join(t.TempDir(), "secrets")
			if err := os.WriteFile(cfg.SecretFile, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := webhook.New(cfg, telemetry.Discard())
			if (err == nil) != (tt.want == "") || (err != nil && failure.Message(err) != tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	cfg := webhook.DefaultConfig()
	cfg.SecretFile = "absent"
	if _, err := webhook.New(cfg, telemetry.Discard()); failure.KindOf(err) != failure.Invalid {
		t.Errorf("a file that is not there: %v", err)
	}
}
