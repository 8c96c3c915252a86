package webhook

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"slices"
	"strings"

	"triptych/shared/config"
	"triptych/shared/failure"
)

// key is a secret as bytes.
type key []byte

// secretPrefix begins a secret in the form of Standard Webhooks.
const secretPrefix = "whsec_"

// leastSecret is how many bytes Standard Webhooks wants of a secret.
const leastSecret = 24

// parseSecret reads a secret that a flag gave; its text is in no message.
func parseSecret(flag, text string) (key, error) {
	k := key(text)
	if encoded, ok := strings.CutPrefix(text, secretPrefix); ok {
		// With or without padding, as people copy it.
		decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
		if err != nil {
			return nil, config.Wrong(flag, "has a secret that begins with %s and is not base64", secretPrefix)
		}
		k = decoded
	}
	if len(k) < leastSecret {
		return nil, config.Wrong(flag, "has a secret of %d bytes, must be %d or more", len(k), leastSecret)
	}
	return k, nil
}

// secrets are the keys of the flags, and those that the file has now.
func (c *Caller) secrets() ([]key, error) {
	if c.cfg.SecretFile == "" {
		return c.keys, nil
	}
	data, err := os.ReadFile(c.cfg.SecretFile)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "--webhook-secret-file: %q can't be read", c.cfg.SecretFile)
	}
	keys := slices.Clone(c.keys)
	for lines := bufio.NewScanner(strings.NewReader(string(data))); lines.Scan(); {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		k, err := parseSecret("webhook-secret-file", text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, config.Wrong("webhook-secret-file", "has no secret")
	}
	return keys, nil
}

// sign gives a signature by each key, so that a receiver that knows one of them can
// check it.
func sign(keys []key, id, timestamp string, body []byte) string {
	signatures := make([]string, 0, len(keys))
	for _, k := range keys {
		mac := hmac.New(sha256.New, k)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signatures, " ")
}
