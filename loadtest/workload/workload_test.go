package workload_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/target"
	"triptych/loadtest/target/targettest"
	"triptych/loadtest/workload"
	"triptych/shared/failure"
	"triptych/shared/testkit"
)

func echo(image []byte) ([]string, error) { return []string{string(image)}, nil }

func options(p target.Protocol, url string) target.Options {
	return target.Options{Protocol: p, URL: url, Model: targettest.Model, Input: "IMAGE", Output: "LABEL", Connections: 1, InFlight: 4}
}

func open(t *testing.T, specs ...workload.Spec) *workload.Workload {
	t.Helper()
	w, err := workload.New(specs, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// A mix sends each sort as often as its weight says, and has each counted apart
// and together.
func TestMix(t *testing.T) {
	server := targettest.Start(t, echo)
	w := open(t,
		workload.Spec{Name: "photos", Weight: 6, Target: options(target.Classify, server.URL), Images: []string{targettest.Pictures(t, "a", "b")}, Consistent: true},
		workload.Spec{Name: "tensors", Weight: 3, Target: options(target.GRPC, server.Address), Tensor: targettest.Tensor + ":UINT8:4", Batch: 1, Contents: 2},
		workload.Spec{Name: "jobs", Weight: 1, Target: options(target.Classify, server.URL), Images: []string{targettest.Pictures(t, "c")}, JobItems: 5},
	)
	whole, stage := measure.NewRecorder(), measure.NewRecorder()
	phase := w.Phase(whole)
	const n = 1000
	load.Closed(t.Context(), load.Plan{Requests: n, Timeout: 30 * time.Second, Items: workload.PhaseItems}, 4, phase, stage)
	if got := stage.Result(); got.Answered != n || whole.Result().Answered != n || got.Errors != 0 {
		t.Fatalf("stage %+v, whole %+v", got, whole.Result())
	}
	var answered, items int64
	for i, part := range phase.Parts() {
		want := []float64{600, 300, 100}[i]
		if got := float64(part.Result.Answered); math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("%s: %v of %d, want about %v", part.Name, got, n, want)
		}
		answered, items = answered+part.Result.Answered, items+part.Result.Items
	}
	if answered != n || items != stage.Result().Items || items <= n {
		t.Errorf("the parts have %d answers with %d items, together %d", answered, items, stage.Result().Items)
	}
	if w.Items() != 5 {
		t.Errorf("%d items", w.Items())
	}
}

func TestOneSortHasNoParts(t *testing.T) {
	server := targettest.Start(t, echo)
	w := open(t, workload.Spec{Weight: 1, Target: options(target.REST, server.URL), Images: []string{targettest.Pictures(t, "a")}, Deadline: time.Minute})
	phase := w.Phase()
	if also, deadline := phase.Sort(0); len(also) != 0 || deadline != time.Minute || len(phase.Parts()) != 0 {
		t.Errorf("also %v, deadline %v, parts %v", also, deadline, phase.Parts())
	}
	if err := w.Try(t.Context()); err != nil {
		t.Error(err)
	}
	if got := server.Last().Timeout; got != "60000000" {
		t.Errorf("the server was told %s us", got)
	}
}

func TestExpected(t *testing.T) {
	server := targettest.Start(t, func([]byte) ([]string, error) { return []string{"espresso"}, nil })
	w := open(t, workload.Spec{
		Weight: 1, Target: options(target.Classify, server.URL), Images: []string{targettest.Pictures(t, "cat.gif", "coffee.jpg")},
		Expected: testkit.Path(t, "testdata", "expected.json"), ExpectedVersion: "1",
	}, workload.Spec{
		Weight: 0, Target: options(target.Classify, server.URL), Images: []string{targettest.Pictures(t, "cat.gif")}, JobItems: 1,
		Expected: testkit.Path(t, "testdata", "expected.json"), ExpectedVersion: "1",
	})
	recorder := measure.NewRecorder()
	load.Closed(t.Context(), load.Plan{Requests: 10, Timeout: 30 * time.Second, Items: workload.PhaseItems}, 1, w.Phase(), recorder)
	if r := recorder.Result(); r.Answered != 5 || r.Errors != 5 || r.Faults[0].Kind != measure.WrongAnswer {
		t.Errorf("%+v", r)
	}
	if err := w.Try(t.Context()); err != nil {
		t.Errorf("a server that is wrong is said not to answer: %v", err)
	}
	busy := targettest.Start(t, func([]byte) ([]string, error) { return nil, failure.New(failure.Busy, "full") })
	full := open(t, workload.Spec{Weight: 1, Target: options(target.Classify, busy.URL), Images: []string{targettest.Pictures(t, "a")}})
	if err := full.Try(t.Context()); err == nil || measure.FaultOf(err).Kind != "HTTP 429 BUSY" {
		t.Errorf("a try of a full server: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	dir := targettest.Pictures(t, "cat.gif")
	grpc, web := options(target.GRPC, "h:1"), options(target.REST, "http://h:2/")
	grpc.Priority, grpc.Tenant, web.Version = 2, "shop", "1"
	w := open(t,
		workload.Spec{Weight: 1, Target: grpc, Tensor: "x:FP32:3", Batch: 2, Contents: 4, Deadline: time.Second},
		workload.Spec{Name: "web", Weight: 0.5, Target: web, Images: []string{dir}, JobItems: 7, Expected: testkit.Path(t, "testdata", "expected.json"), ExpectedVersion: "1"},
	)
	want := []string{
		"classify (weight 1): grpc to h:1, model classify, 4 tensors x:FP32:3 with a batch of 2, priority 2, deadline 1s, tenant shop",
		"web (weight 0.5): rest to http://h:2, model classify version 1, jobs of 7 out of 1 images, checked against " + testkit.Path(t, "testdata", "expected.json") + " version 1",
	}
	if diff := cmp.Diff(want, w.Describe()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNewRefuses(t *testing.T) {
	image := targettest.Pictures(t, "horse.jpg")
	for name, tt := range map[string]struct {
		spec workload.Spec
		want string
	}{
		"no weight":          {workload.Spec{Images: []string{image}}, "weights of the requests are 0"},
		"no image":           {workload.Spec{Weight: 1, Images: []string{"nowhere"}}, "can't be read"},
		"tensor":             {workload.Spec{Weight: 1, Tensor: "x"}, "must be NAME:DATATYPE:DIMS"},
		"tensor with labels": {workload.Spec{Weight: 1, Tensor: "x:FP32:1", Consistent: true}, "no labels that could be checked"},
		"tensor over HTTP":   {workload.Spec{Weight: 1, Tensor: "x:FP32:1", Contents: 1, Target: options(target.REST, "")}, "needs --protocol grpc"},
		"unknown image":      {workload.Spec{Weight: 1, Images: []string{image}, Expected: testkit.Path(t, "testdata", "expected.json"), ExpectedVersion: "1"}, "no answer of version 1 for horse.jpg"},
		"jobs by gRPC":       {workload.Spec{Weight: 1, Images: []string{image}, JobItems: 1, Target: options(target.GRPC, "")}, "jobs are sent over HTTP"},
		"no such protocol":   {workload.Spec{Weight: 1, Images: []string{image}}, "must be one of"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := workload.New([]workload.Spec{tt.spec}, 1); failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), tt.want) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}
