package predictor_test

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	predictor "triptych/services/predictor"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

func TestConfigNamesTheFlag(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"defaults": {nil, ""},
		"all":      {[]string{"--device", "cuda:1", "--onnxruntime", "/x.so", "--max-queue-size", "5", "--intra-op-threads", "2", "--disable-auto-complete-config"}, ""},
		"device":   {[]string{"--device", "gpu"}, `--device is wrong: "gpu" is no device`},
		"fallback": {[]string{"--device-fallback", "gpu"}, `--device-fallback is "gpu", must be error or cpu`},
		"to a CPU": {[]string{"--device-fallback", "cpu"}, ""},
		"queue":    {[]string{"--max-queue-size", "0"}, "--max-queue-size is 0, must be 1 or more"},
		"stall":    {[]string{"--stall-timeout", "0s"}, "--stall-timeout is 0s, must be more than 0"},
		"threads":  {[]string{"--intra-op-threads", "-1"}, "--intra-op-threads is -1, must be"},
		"wide":     {[]string{"--wide-session-max-bytes", "-1"}, "--wide-session-max-bytes is -1, must be 0 or more"},
		"not wide": {[]string{"--wide-session-max-bytes", "0"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := predictor.DefaultConfig()
			flags := pflag.NewFlagSet("predictor", pflag.ContinueOnError)
			cfg.RegisterFlags(flags)
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			err := cfg.Validate()
			if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(failure.Message(err), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestNewBackendsRefuses(t *testing.T) {
	cases := map[string]struct {
		cfg  predictor.Config
		want string
	}{
		"device":  {predictor.Config{Device: "tpu", MaxQueueSize: 1, StallTimeout: 1}, "--device"},
		"library": {predictor.Config{Device: "cpu", MaxQueueSize: 1, StallTimeout: 1, Library: "/nowhere/libonnxruntime.so"}, `run "make setup"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := predictor.NewBackends(c.cfg, telemetry.Discard())
			if err == nil || !strings.Contains(failure.Message(err), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
