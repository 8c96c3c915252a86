package stages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triptych/loadtest/bench/answers"
	"triptych/loadtest/bench/chain/stages"
	"triptych/loadtest/bench/turns"
	"triptych/shared/oip"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var library = os.Getenv("TRIPTYCH_ONNXRUNTIME")

func TestChain(t *testing.T) {
	c, err := stages.Open(t.Context(), testkit.Path(t, "models"), "classify_float32", library)
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(filepath.Join(testkit.Path(t, "testdata", "images"), "cat.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Infer(t.Context(), answers.Request("classify_float32", image))
	if err != nil {
		t.Fatal(err)
	}
	if labels, _ := oip.Output(resp, answers.Label); !strings.Contains(string(labels.Data), "cat") || stages.Sum(resp) == "" {
		t.Errorf("labels %q", labels.Data)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	models := testkit.Path(t, "models")
	standins := testkit.Path(t, "tools", "bench", "models")
	for name, tt := range map[string]struct{ repository, model, library string }{
		"no repository": {"/nowhere", "classify", library},
		"no model":      {models, "nothing", library},
		"no ensemble":   {standins, "standin", library},
		"no library":    {models, "classify", "/nowhere/libonnxruntime.so"},
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := stages.Open(t.Context(), tt.repository, tt.model, tt.library); err == nil {
				t.Error("opened", c.Close())
			}
		})
	}
}

func TestPrepareRefuses(t *testing.T) {
	models := testkit.Path(t, "models")
	for name, task := range map[string]turns.Task{
		"kind":  {Kind: turns.Resize},
		"model": {Kind: turns.Chain, Model: "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := stages.Prepare(t.Context(), models, library)(task); err == nil {
				t.Error("prepared")
			}
		})
	}
}
