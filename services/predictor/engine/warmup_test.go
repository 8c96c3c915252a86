package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/services/predictor/engine"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// versions are models of which each differs from "base" in one way.
var versions = filepath.Join("..", "testdata", "versions")

const vectors = `
  max_batch_size: 8
  input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]
  output [ { name: "y" data_type: TYPE_FP32 dims: [ 3 ] } ]
`

func parameter(key, value string) string {
	return ` parameters { key: "` + key + `" value { string_value: "` + value + `" } } `
}

// logged loads a model of versions and gives what it logs, too.
func logged(t *testing.T, file, text string) (*engine.Session, *inference.ModelConfig, *bytes.Buffer) {
	t.Helper()
	cfg := testModel(t, file, text)
	log := &bytes.Buffer{}
	s := settings()
	s.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	session, err := library(t).Load(t.Context(), cfg, versions, s)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, session)
	return session, cfg, log
}

// Item 41 of the complaints about Triton: the first batch of a size is slow. All
// sizes are run before any traffic.
func TestWarmUpAtEverySize(t *testing.T) {
	free := `
  max_batch_size: 4
  input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
  output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] } ]
`
	wide := func(name, width string) string {
		return `model_warmup [ { name: "` + name + `" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ ` + width + ` ] zero_data: true } } } ]`
	}
	all := parameter("warmup_sizes", "all")
	cases := map[string]struct {
		file, config string
		want         []int
		logs         string
	}{
		"doubling":                              {"base", vectors + all, []int{1, 2, 4, 8}, ""},
		"preferred":                             {"base", vectors + all + `dynamic_batching { preferred_batch_size: [ 6, 4 ] }`, []int{1, 2, 4, 6, 8}, ""},
		"no power of two":                       {"base", strings.Replace(vectors, "8", "6", 1) + all, []int{1, 2, 4, 6}, ""},
		"one":                                   {"base", strings.Replace(vectors, "8", "1", 1), []int{1}, ""},
		"none":                                  {"base", vectors + parameter("warmup_sizes", "none"), nil, ""},
		"free":                                  {"free", free + all, nil, "dimensions are free and model_warmup gives none"},
		"free, with sample":                     {"free", free + all + wide("five", "5") + wide("five again", "5") + wide("six", "6"), []int{1, 2, 4}, ""},
		"fails at three, at which nobody looks": {"fails_at_three", vectors + parameter("warmup_sizes", "none"), nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			session, cfg, log := logged(t, c.file, c.config)
			measured, err := session.WarmUp(t.Context(), cfg, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			var rows []int
			for _, m := range measured {
				rows = append(rows, m.Rows)
				if m.Took <= 0 {
					t.Errorf("%d rows took %s", m.Rows, m.Took)
				}
			}
			if diff := cmp.Diff(c.want, rows); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(log.String(), c.logs) {
				t.Errorf("the log lacks %q: %s", c.logs, log)
			}
		})
	}
}

func TestWarmUpWithoutABatch(t *testing.T) {
	session := load(t, testModel(t, "unbatched", `
	  input [ { name: "x" data_type: TYPE_FP32 dims: [ 2, 3 ] } ]
	  output [ { name: "y" data_type: TYPE_FP32 dims: [ 3, 2 ] } ]`))
	measured, err := session.WarmUp(t.Context(), config(t, ""), "")
	if err != nil || len(measured) != 1 || measured[0].Rows != 1 {
		t.Errorf("measured %v, error %v", measured, err)
	}
}

func TestWarmUpFails(t *testing.T) {
	ones := func(key, value string) string {
		return `model_warmup [ { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3 ] ` + key + `: ` + value + ` } } } ]`
	}
	cases := map[string]struct{ file, config, want, logs string }{
		"at a size":             {"fails_at_three", vectors, `model "fails_at_three": a batch of 4 zeros fails`, ""},
		"ORT-06 NaN of a file":  {"all_nan", vectors + ones("input_data_file", `"ones"`), `model_warmup "w" gives 3 NaN in output "y" of shape [1,3]`, ""},
		"NaN of zeros":          {"all_nan", vectors + ones("zero_data", "true"), "", "warm-up gives NaN"},
		"NaN of a gate sample":  {"all_nan", vectors + parameter("gate_samples", "golden"), `gate_samples "a" gives 3 NaN`, ""},
		"file of another size":  {"base", vectors + ones("input_data_file", `"short"`), `the file warmup/short has 5 bytes, the tensor has 12`, ""},
		"file that is a folder": {"base", vectors + ones("input_data_file", `"folder"`), `the file warmup/folder is not a regular file`, ""},
	}
	directory := t.TempDir()
	write(t, directory, "warmup/ones", floats(1, 1, 1))
	write(t, directory, "warmup/short", []byte("short"))
	write(t, directory, "warmup/folder/x", nil)
	write(t, directory, "golden/a/x", floats(1, 1, 1))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			session, cfg, log := logged(t, c.file, c.config)
			_, err := session.WarmUp(t.Context(), cfg, directory)
			if c.want != "" {
				wantFailure(t, err, failure.Invalid, c.want)
			} else if err != nil {
				t.Error(err)
			}
			if !strings.Contains(log.String(), c.logs) {
				t.Errorf("the log lacks %q: %s", c.logs, log)
			}
		})
	}
	_, err := library(t).Load(t.Context(), testModel(t, "base", vectors+parameter("warmup_sizes", "some")), versions, settings())
	wantFailure(t, err, failure.Invalid, `parameter "warmup_sizes": is "some", must be one of auto, all, none`)
}

func TestWarmUpEndsWithItsContext(t *testing.T) {
	session, cfg, _ := logged(t, "base", vectors)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := session.WarmUp(ctx, cfg, "")
	wantFailure(t, err, failure.Cancelled, "the caller has gone")
}

// BAT-06, BAT-09: users are told of a model whose answers depend on their batch,
// whichever operator makes them.
func TestBatchMates(t *testing.T) {
	const warning = "answers depend on what shares their batch"
	for file, want := range map[string]bool{"ranged": true, "base": false, "turned": false} {
		t.Run(file, func(t *testing.T) {
			session, cfg, log := logged(t, file, vectors)
			if _, err := session.WarmUp(t.Context(), cfg, ""); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(log.String(), warning); got != want {
				t.Errorf("warned %t, want %t: %s", got, want, log)
			}
		})
	}
	t.Run("the shipped classifier", func(t *testing.T) {
		cfg, directory := sampleModel(t)
		log := &bytes.Buffer{}
		s := settings()
		s.Logger = slog.New(slog.NewTextHandler(log, nil))
		session, err := library(t).Load(t.Context(), cfg, filepath.Join(directory, "2"), s)
		if err != nil {
			t.Fatal(err)
		}
		closeLater(t, session)
		measured, err := session.WarmUp(t.Context(), cfg, directory)
		if err != nil || len(measured) < 3 {
			t.Errorf("measured %v, error %v", measured, err)
		}
		if strings.Contains(log.String(), warning) {
			t.Errorf("log %s", log)
		}
		t.Logf("measured %v", measured)
	})
}

func TestSamples(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, "golden/one/x", floats(1, 2, 3))
	write(t, directory, "golden/two/x", floats(1, 2, 3, 4, 5, 6))
	write(t, directory, "golden/.git/x", nil)
	write(t, directory, "golden/README", nil)
	write(t, directory, "texts/a/x", oip.JoinStrings("a", "bc", "", "d", "e", "f"))
	write(t, directory, "free/a/x", floats(1, 2, 3, 4))
	write(t, directory, "free/a/x.shape", []byte("[2, 2]\n"))
	write(t, directory, "empty/README", nil)
	write(t, directory, "shapeless/a/x", floats(1, 2))
	write(t, directory, "bad_shape/a/x", floats(1, 2))
	write(t, directory, "bad_shape/a/x.shape", []byte("1,-2"))
	write(t, directory, "nine/a/x", make([]byte, 9*12))
	write(t, directory, "none/a/x", nil)
	write(t, directory, "none/a/x.shape", []byte("0,3"))
	write(t, directory, "cut/a/x", []byte("\x05\x00\x00\x00ab"))
	texts := `max_batch_size: 4
	  input [ { name: "x" data_type: TYPE_STRING dims: [ 3 ] } ] output [ { name: "y" data_type: TYPE_STRING dims: [ 3 ] } ]`
	free := `max_batch_size: 4
	  input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ] output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] } ]`
	folder := func(name string) string { return parameter("gate_samples", name) }
	warm := func(size string) string {
		return `model_warmup [ { name: "w" batch_size: ` + size + ` inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3 ] random_data: true } } } ]`
	}
	cases := map[string]struct {
		file, config string
		want         []string
		failure      string
	}{
		"none configured":      {"identity_fp32", `max_batch_size: 2` + fp32, []string{"zeros [1,3] 12", "noise [2,3] 24"}, ""},
		"model_warmup":         {"identity_fp32", `max_batch_size: 8` + fp32 + warm("5"), []string{"w [5,3] 60"}, ""},
		"model_warmup off":     {"identity_fp32", `max_batch_size: 8` + fp32 + warm("0"), []string{"zeros [1,3] 12", "noise [4,3] 48"}, ""},
		"model_warmup beyond":  {"identity_fp32", `max_batch_size: 8` + fp32 + warm("9"), []string{"zeros [1,3] 12", "noise [4,3] 48"}, ""},
		"a folder":             {"identity_fp32", `max_batch_size: 8` + fp32 + folder("golden") + warm("5"), []string{"one [1,3] 12", "two [2,3] 24"}, ""},
		"texts":                {"identity_string", texts + folder("texts"), []string{"a [2,3] 30"}, ""},
		"texts of none":        {"identity_string", texts, []string{"zeros [1,3] 12", "noise [4,3] 48"}, ""},
		"free":                 {"dynamic_fp32", free + folder("free"), []string{"a [2,2] 16"}, ""},
		"free without a shape": {"dynamic_fp32", free + folder("shapeless"), nil, `gate_samples "a": input "x": the model takes FP32 [-1,-1]: a file x.shape must say the shape`},
		"bad shape":            {"dynamic_fp32", free + folder("bad_shape"), nil, `the file x.shape says "1,-2", the model takes FP32 [-1,-1]`},
		"too many rows":        {"identity_fp32", `max_batch_size: 8` + fp32 + folder("nine"), nil, `gate_samples "a": input "x" has 9 rows, the model takes 1 to 8`},
		"no rows":              {"identity_fp32", `max_batch_size: 8` + fp32 + folder("none"), nil, `gate_samples "a": input "x" has 0 rows, the model takes 1 to 8`},
		"cut text":             {"identity_string", texts + folder("cut"), nil, `the file x has 6 bytes, which is no number of rows of BYTES [-1,3]`},
		"empty folder":         {"identity_fp32", `max_batch_size: 8` + fp32 + folder("empty"), nil, `the folder "empty" of gate_samples has no sample`},
		"no folder":            {"identity_fp32", `max_batch_size: 8` + fp32 + folder("nowhere"), nil, `the folder "nowhere" of gate_samples can't be read`},
		"outside":              {"identity_fp32", `max_batch_size: 8` + fp32 + folder("../golden"), nil, `gate_samples "../golden" leaves the model's folder`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := testModel(t, c.file, c.config)
			session := load(t, cfg)
			samples, err := session.Samples(t.Context(), cfg, directory)
			if c.failure != "" {
				wantFailure(t, err, failure.Invalid, c.failure)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range samples {
				in := s.Inputs[0]
				got = append(got, s.Name+" "+oip.FormatShape(in.Shape)+" "+strconv.Itoa(len(in.Data)))
				if len(run(t, session, s.Inputs...)) != 1 {
					t.Error("no output")
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func write(tb testing.TB, directory, path string, data []byte) {
	tb.Helper()
	full := filepath.Join(directory, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(full, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}
