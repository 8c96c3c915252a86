package stage_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"triptych/shared/config"
	"triptych/shared/failure"
	"triptych/shared/stage"
)

// own is what a service adds to the settings of every stage.
type own struct{ device string }

func (o *own) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.device, "device", "cpu", "What runs the model.")
}

func (o *own) Validate() error {
	if o.device != "cpu" {
		return config.Wrong("device", "is %q, there is none here", o.device)
	}
	return nil
}

func TestMainStatus(t *testing.T) {
	live := run(t, newStage(t, settings(t), opened()))
	live.ready(t)
	loading := &toy{gate: make(chan struct{})}
	slow := run(t, newStage(t, settings(t), loading))
	defer func() {
		for _, r := range []*running{live, slow} {
			r.end()
			if err := r.wait(t); err != nil {
				t.Error(err)
			}
		}
	}()
	tests := map[string]struct {
		args, environ  []string
		fails          error
		status         int
		ran            bool
		stdout, stderr string // what they begin with; "" for nothing at all
	}{
		"runs":               {nil, nil, nil, 0, true, "", ""},
		"fails":              {nil, nil, failure.Wrap(errors.New("EOF"), failure.Invalid, "no labels"), 1, true, "", "toys: no labels: EOF\n"},
		"fails in two":       {nil, nil, errors.Join(failure.New(failure.Invalid, "a"), errors.New("b")), 1, true, "", "toys: a\nb\n"},
		"version":            {[]string{"--version"}, nil, nil, 0, false, "toys devel", ""},
		"help":               {[]string{"--help"}, nil, nil, 0, false, "Serves toys.\n\nFlags (each setting has a twin in the environment", ""},
		"wrong flag":         {[]string{"--devise=x"}, nil, nil, 2, false, "", "toys: unknown flag: --devise\n"},
		"wrong value":        {[]string{"--drain-delay=soon"}, nil, nil, 2, false, "", `toys: invalid argument "soon" for "--drain-delay" flag`},
		"wrong setting":      {[]string{"--model-control-mode=pol"}, nil, nil, 2, false, "", "toys: --model-control-mode is \"pol\", must be none, poll or explicit\n"},
		"wrong cache":        {[]string{"--response-cache-bytes=-1"}, nil, nil, 2, false, "", "toys: --response-cache-bytes is -1, must be 0 or more\n"},
		"wrong own setting":  {nil, []string{"TRIPTYCH_DEVICE=tpu"}, nil, 2, false, "", "toys: --device is \"tpu\", there is none here\n"},
		"unknown variable":   {nil, []string{"TRIPTYCH_DEVISE=cpu"}, nil, 0, true, "", "toys: TRIPTYCH_DEVISE is set, but no flag goes by it\n"},
		"version of a stack": {nil, []string{"TRIPTYCH_VERSION=1.2"}, nil, 0, true, "", "toys: TRIPTYCH_VERSION is set, but no flag goes by it\n"},
		"healthy":            {[]string{"--healthcheck", "--admin-address", live.AdminAddress()}, nil, nil, 0, false, "", ""},
		"healthy by env":     {[]string{"--healthcheck"}, []string{"TRIPTYCH_ADMIN_ADDRESS=" + live.AdminAddress()}, nil, 0, false, "", ""},
		"not ready":          {[]string{"--healthcheck", "--admin-address", slow.AdminAddress()}, nil, nil, 1, false, "", "toys: not ready: models are loading\n"},
		"nobody there":       {[]string{"--healthcheck", "--admin-address", "127.0.0.1:1"}, nil, nil, 1, false, "", "toys: nothing answers at 127.0.0.1:1: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr text
			cfg, ran := stage.DefaultConfig(), false
			process := stage.Process{Args: tt.args, Environ: tt.environ, Stdout: &stdout, Stderr: &stderr}
			status := stage.Main(process, "toys", "Serves toys.", &cfg, &own{}, func(context.Context, io.Writer) error {
				ran = true
				return tt.fails
			})
			if status != tt.status || ran != tt.ran {
				t.Errorf("status %d, ran: %t, want %d, %t", status, ran, tt.status, tt.ran)
			}
			for what, got := range map[string][2]string{"stdout": {stdout.String(), tt.stdout}, "stderr": {stderr.String(), tt.stderr}} {
				if !strings.HasPrefix(got[0], got[1]) || (got[1] == "") != (got[0] == "") {
					t.Errorf("%s is %q, want %q", what, got[0], got[1])
				}
			}
		})
	}
}

// A service that is told to end by a signal ends well.
func TestMainEndsOnSIGTERM(t *testing.T) {
	cfg := settings(t)
	var stdout, stderr text
	process := stage.Process{
		Args:   []string{"--model-repository", cfg.Repository[0], "--grpc-address", "127.0.0.1:0", "--admin-address", "127.0.0.1:0", "--log-format=json"},
		Stdout: &stdout, Stderr: &stderr,
	}
	read := stage.DefaultConfig()
	status := stage.Main(process, "toys", "Serves toys.", &read, &own{}, func(ctx context.Context, logs io.Writer) error {
		if _, ok := logs.(*text); !ok {
			t.Error("logs don't go to standard error")
		}
		s := newStage(t, read, opened())
		return s.Run(ctx, s.Service, func() {
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		})
	})
	if status != 0 || stderr.String() != "" {
		t.Errorf("status %d, stderr %q", status, stderr.String())
	}
}

func TestConfig(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*stage.Config)
		message string
	}{
		"default":       {func(*stage.Config) {}, ""},
		"no repository": {func(c *stage.Config) { c.Repository = nil }, "--model-repository is not given"},
		"no address":    {func(c *stage.Config) { c.GRPCAddress = "" }, "--grpc-address is empty"},
		"a section":     {func(c *stage.Config) { c.RPC.MaxMessageBytes = 1 }, "--grpc-max-message-bytes is 1, must be from 1048576 to 1073741824"},
	} {
		cfg := stage.DefaultConfig()
		tt.change(&cfg)
		got := ""
		if err := cfg.Validate(); err != nil {
			got = err.Error()
		}
		if got != tt.message {
			t.Errorf("%s: got %q, want %q", name, got, tt.message)
		}
	}
}
