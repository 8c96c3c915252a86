package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"

	"triptych/loadtest/bench/chain"
	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/rows"
	"triptych/loadtest/bench/stack/stacktest"
	"triptych/proto/inference"
	"triptych/shared/oip"
	"triptych/shared/testkit"
)

// rivalVariable makes this test's binary a rival, at the address that it has.
const rivalVariable = "CHAIN_TEST_RIVAL"

func TestMain(m *testing.M) {
	status, is := stacktest.Main()
	switch {
	case is:
		os.Exit(status)
	case os.Getenv(rivalVariable) != "":
		serve(os.Getenv(rivalVariable))
	case len(os.Args) > 1 && os.Args[1] == chain.SideArgument:
		os.Exit(chain.Run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
	default:
		testkit.Main(m)
	}
}

// toy is a rival that finds the same in every picture.
type toy struct {
	inference.UnimplementedGRPCInferenceServiceServer
}

func serve(address string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return
	}
	s := grpc.NewServer()
	inference.RegisterGRPCInferenceServiceServer(s, toy{})
	context.AfterFunc(ctx, s.Stop)
	_ = s.Serve(listener)
}

func (toy) ServerLive(context.Context, *inference.ServerLiveRequest) (*inference.ServerLiveResponse, error) {
	return &inference.ServerLiveResponse{Live: true}, nil
}

func (toy) ModelReady(context.Context, *inference.ModelReadyRequest) (*inference.ModelReadyResponse, error) {
	return &inference.ModelReadyResponse{Ready: true}, nil
}

func (toy) ModelInfer(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	resp := &inference.ModelInferResponse{}
	oip.AddOutput(resp, oip.Tensor{Name: "LABEL", Datatype: oip.Bytes, Shape: []int64{1, 1}, Data: oip.JoinStrings("cat")})
	oip.AddOutput(resp, oip.Tensor{Name: "SCORE", Datatype: "FP32", Shape: []int64{1, 1}, Data: []byte{0, 0, 0x80, 0x3f}})
	return resp, nil
}

// folder has programs that end at once.
func folder(t *testing.T) string {
	t.Helper()
	f := t.TempDir()
	for _, name := range []string{"gateway", "preprocess", "predictor", "postprocess"} {
		if err := os.WriteFile(filepath.Join(f, name), []byte("#!/bin/sh\necho it rains\nexit 3\n"), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	return f
}

// repositories are the flags for those of this repository.
func repositories(t *testing.T) []string {
	t.Helper()
	return []string{
		"--models", testkit.Path(t, "models"), "--stand-ins", testkit.Path(t, "tools", "bench", "models"),
		"--samples", testkit.Path(t, "testdata", "images"), "--photographs", "2", "--rounds", "1", "--turns", "1", "--window", "200ms",
	}
}

func run(t *testing.T, environ map[string]string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = chain.Run(t.Context(), args, func(name string) string {
		if v, ok := environ[name]; ok {
			return v
		}
		return os.Getenv(name)
	}, nil, &out, &errs)
	return status, out.String(), errs.String()
}

func TestRunRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"row":                      {[]string{"--rows", "9"}, "--rows has 9, must be from 1 to 8"},
		"window":                   {[]string{"--window", "1ms"}, "--window is 1ms"},
		"turns":                    {[]string{"--turns", "0"}, "--turns is 0"},
		"photographs":              {[]string{"--photographs", "0"}, "--photographs is 0"},
		"rival without an address": {[]string{"--rival", "x"}, "--rival needs --rival-grpc"},
		"ours":                     {[]string{"--binaries", "/nowhere"}, "there is no /nowhere/preprocess"},
		"samples":                  {append(repositories(t), "--binaries", folder(t), "--samples", "/nowhere", "--rows", "1", "--page", "", "--output", filepath.Join(t.TempDir(), "x")), "row 1: make photographs"},
		"models":                   {append(repositories(t), "--binaries", folder(t), "--models", "/nowhere", "--rows", "2", "--page", "", "--output", filepath.Join(t.TempDir(), "x")), "row 2: make a repository"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, _, stderr := run(t, nil, tt.args...); status != rows.NotRun || !strings.Contains(stderr, tt.want) {
				t.Errorf("status %d, %q, want %q", status, stderr, tt.want)
			}
		})
	}
}

// What can't be started says why.
func TestRunWithoutServices(t *testing.T) {
	output := filepath.Join(t.TempDir(), "report.json")
	status, _, stderr := run(t, nil, append(repositories(t), "--rows", "8", "--binaries", folder(t), "--output", output, "--page", "")...)
	if status != rows.NotRun || !strings.Contains(stderr, "row 8: start preprocess: ") || !strings.Contains(stderr, "it rains") {
		t.Errorf("status %d, %q", status, stderr)
	}
	if _, err := os.Stat(output); err != nil {
		t.Error(err)
	}
}

// Each row is taken, however short: what it finds means nothing here.
func TestRows(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	address := testkit.FreeAddress(t)
	output, page := filepath.Join(t.TempDir(), "report.json"), filepath.Join(t.TempDir(), "report.html")
	status, stdout, stderr := run(t, map[string]string{
		"RIVAL": "test {model} != 3 && " + rivalVariable + "=" + address + " '" + self + "'", "RIVAL_GRPC": address, "RIVAL_MODEL": "m",
	}, append(repositories(t), "--binaries", stacktest.Binaries(t), "--output", output, "--page", page)...)
	if status != rows.Good {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	data, err := os.ReadFile(output)
	var report figure.Report
	if err := errors.Join(err, json.Unmarshal(data, &report)); err != nil {
		t.Fatal(err)
	}
	taken := map[int]int{}
	for _, f := range report.Figures {
		taken[f.Row]++
		if f.Row <= 4 && (f.Rival == nil || f.Ours <= 0 || *f.Rival <= 0) {
			t.Errorf("%+v", f)
		}
	}
	for row, want := range map[int]int{1: 3, 2: 3, 3: 3, 4: 3, 5: 2, 6: 6, 7: 6, 8: 4} {
		if taken[row] != want {
			t.Errorf("row %d has %d figures, want %d", row, taken[row], want)
		}
	}
	if info, err := os.Stat(page); err != nil || info.Size() == 0 {
		t.Error(err)
	}
	if !strings.Contains(stdout, "spans received") || strings.Contains(stdout, "No rival") {
		t.Errorf("the table is\n%s", stdout)
	}
}
