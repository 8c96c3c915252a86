package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"triptych/loadtest/bench/server"
	"triptych/loadtest/measure"
	"triptych/loadtest/sample"
	"triptych/proto/inference"
	"triptych/shared/oip"
)

// classifier is the real model of the rows 4 and 5.
const classifier = "efficientnet_lite0"

// repository holds the classifier with one version, the latest. Odd versions are
// the file of version 1 and even ones that of version 2.
type repository struct {
	root, source, staging string
	latest                int
}

// newRepository makes one in an empty folder, with version 1 in it.
func newRepository(classifiers, folder string) (*repository, error) {
	r := &repository{root: filepath.Join(folder, "models"), source: filepath.Join(classifiers, classifier), staging: filepath.Join(folder, "staging")}
	text, err := os.ReadFile(filepath.Join(r.source, "config.pbtxt"))
	if err != nil {
		return nil, fmt.Errorf("read the classifier: %w", err)
	}
	text = regexp.MustCompile(`(?m)^version_policy.*$`).ReplaceAll(text, []byte("version_policy { latest { num_versions: 1 } }"))
	if err := os.MkdirAll(filepath.Join(r.root, classifier), 0o755); err != nil {
		return nil, fmt.Errorf("make a repository: %w", err)
	}
	if err := os.WriteFile(filepath.Join(r.root, classifier, "config.pbtxt"), text, 0o600); err != nil {
		return nil, fmt.Errorf("make a repository: %w", err)
	}
	return r, r.add()
}

// add puts the next version there, whole at once.
func (r *repository) add() error {
	next := r.latest + 1
	model, err := os.ReadFile(filepath.Join(r.source, strconv.Itoa(2-next%2), "model.onnx"))
	if err != nil {
		return fmt.Errorf("read the classifier: %w", err)
	}
	if err := os.MkdirAll(r.staging, 0o755); err != nil {
		return fmt.Errorf("make version %d: %w", next, err)
	}
	if err := os.WriteFile(filepath.Join(r.staging, "model.onnx"), model, 0o600); err != nil {
		return fmt.Errorf("make version %d: %w", next, err)
	}
	if err := os.Rename(r.staging, r.version(next)); err != nil {
		return fmt.Errorf("make version %d: %w", next, err)
	}
	r.latest = next
	return nil
}

func (r *repository) version(n int) string {
	return filepath.Join(r.root, classifier, strconv.Itoa(n))
}

// swap adds a version, has it loaded and takes the one before away.
func (r *repository) swap(ctx context.Context, s *server.Server) error {
	if err := r.add(); err != nil {
		return err
	}
	if err := s.Load(ctx, classifier); err != nil {
		return err
	}
	return os.RemoveAll(r.version(r.latest - 1))
}

// answers are the right ones, of the odd and of the even versions.
type answers struct {
	tensors []oip.Tensor
	right   [2][][]float32
}

// learn asks both files, one request at a time. It leaves version 2 loaded.
func (r *repository) learn(ctx context.Context, s *server.Server) (*answers, error) {
	spec, err := sample.ParseTensor(input+":UINT8:"+dims, 1)
	if err != nil {
		return nil, err
	}
	a := &answers{}
	if a.tensors, err = sample.Tensors(spec, swapItems, 1); err != nil {
		return nil, err
	}
	if err := s.Load(ctx, classifier); err != nil {
		return nil, err
	}
	for {
		for _, tensor := range a.tensors {
			req := &inference.ModelInferRequest{ModelName: classifier}
			oip.AddInput(req, tensor)
			resp, err := s.Infer(ctx, req)
			if err != nil {
				return nil, fmt.Errorf("ask version %d: %w", r.latest, err)
			}
			a.right[r.latest%2] = append(a.right[r.latest%2], scores(resp))
		}
		if r.latest == 2 {
			return a, nil
		}
		if err := r.swap(ctx, s); err != nil {
			return nil, err
		}
	}
}

// A sum is added up in another order in another batch, so answers of the same file
// differ a little; those of the two files, or of two pictures, differ by far more.
const sameWithin = 1e-3

// check compares an answer with the right one of the version that it names.
func (a *answers) check(n int, resp *inference.ModelInferResponse) error {
	version, err := strconv.Atoi(resp.GetModelVersion())
	if err != nil {
		return &measure.Fault{Kind: measure.WrongAnswer, Message: "the answer names version " + strconv.Quote(resp.GetModelVersion())}
	}
	if d := distance(scores(resp), a.right[version%2][n]); !(d <= sameWithin) {
		return &measure.Fault{Kind: measure.WrongAnswer, Message: fmt.Sprintf("item %d from version %d is off by %g", n, version, d)}
	}
	return nil
}

// distance is the greatest difference, as a part of the greatest score.
func distance(got, want []float32) float64 {
	if len(got) != len(want) || len(got) == 0 {
		return math.Inf(1)
	}
	var most, greatest float64
	for i := range want {
		most = max(most, math.Abs(float64(got[i]-want[i]))) // NaN stays
		greatest = max(greatest, math.Abs(float64(want[i])))
	}
	return most / greatest
}

func scores(resp *inference.ModelInferResponse) []float32 {
	out, _ := oip.Output(resp, "logits")
	values := make([]float32, len(out.Data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(out.Data[4*i:]))
	}
	return values
}
