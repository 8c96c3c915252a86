package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"triptych/cli"
	"triptych/shared/stream"
	"triptych/shared/stream/embedded"
	"triptych/shared/testkit/natstest"
)

// run runs the command and returns its status and outputs.
func runStreams(t *testing.T, environ []string, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	status = cli.Execute(t.Context(), append([]string{"streams"}, args...), environ, cli.Streams{Out: &o, Err: &e})
	return status, o.String(), e.String()
}

func TestStreams(t *testing.T) {
	s := natstest.Server(t, func(c *embedded.Config) { c.Address = "127.0.0.1:0" })
	environ := []string{"TRIPTYCH_NATS_URL=" + s.URL()}
	steps := []struct {
		args   []string
		status int
		out    []string
		err    string
	}{
		{[]string{"status"}, 1, []string{"STREAM", "TRIPTYCH_INPUTS", "missing"}, "triptych: 9 of 9 are not as these flags say: `triptych streams apply` changes that\n"},
		{[]string{"apply"}, 0, []string{"TRIPTYCH_INPUTS", "made", "KV_triptych", "OBJ_triptych-uploads"}, ""},
		{[]string{"status"}, 0, []string{"TRIPTYCH_INPUTS", "as it should be"}, ""},
		{[]string{"status", "--jobs-dead-bytes", "1048576"}, 1, []string{"different", "max_bytes 67108864 -> 1048576"}, "triptych: 1 of 9 are not as these flags say: `triptych streams apply` changes that\n"},
		{[]string{"apply", "--jobs-dead-bytes", "1048576"}, 0, []string{"changed", "max_bytes 67108864 -> 1048576"}, ""},
		{[]string{"status", "--jobs-dead-bytes", "1048576"}, 0, []string{"as it should be"}, ""},
	}
	for _, step := range steps {
		status, out, errs := runStreams(t, environ, step.args...)
		if status != step.status || errs != step.err {
			t.Errorf("%v ends with %d and says %q", step.args, status, errs)
		}
		for _, text := range step.out {
			if !strings.Contains(out, text) {
				t.Errorf("%v writes nothing like %q:\n%s", step.args, text, out)
			}
		}
	}
	_, out, _ := runStreams(t, environ, "status", "--output", "json")
	var list []stream.Change
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 9 || list[0].Name != "TRIPTYCH_INPUTS" {
		t.Errorf("the JSON is %s, %v", out, err)
	}
}

func TestStreamsThatCantBeHad(t *testing.T) {
	tests := map[string]struct {
		args   []string
		status int
		err    string
	}{
		"no server":     {[]string{"apply"}, 1, "triptych: --nats-url is not given; `triptych up --nats-address 127.0.0.1:4222` has --nats-url nats://127.0.0.1:4222\n"},
		"away":          {[]string{"apply", "--nats-url", "nats://me:secret@127.0.0.1:1", "--timeout", "300ms"}, 1, "triptych: NATS at nats://me:xxxxx@127.0.0.1:1 was not reached within 300ms"},
		"wrong flag":    {[]string{"apply", "--jobs-replicas", "2"}, 1, "triptych: --jobs-replicas is 2"},
		"wrong output":  {[]string{"status", "--output", "yaml"}, 1, "triptych: --output is \"yaml\""},
		"no such thing": {[]string{"apply", "x"}, 2, "triptych: unknown command \"x\""},
	}
	for name, test := range tests {
		status, _, errs := runStreams(t, nil, test.args...)
		if status != test.status || !strings.HasPrefix(errs, test.err) {
			t.Errorf("%s: it ends with %d and says %q", name, status, errs)
		}
	}
}
