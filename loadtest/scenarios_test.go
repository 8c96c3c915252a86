package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triptych/loadtest/measure"
	"triptych/loadtest/report"
	"triptych/loadtest/scenario"
	"triptych/loadtest/stage"
	"triptych/loadtest/target"
	"triptych/loadtest/target/targettest"
	"triptych/loadtest/workload"
	"triptych/shared/testkit"
)

// Each example is read as it is, and run with its stages shortened against a
// server that knows every model. Wrong labels are what it should find.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob(testkit.Path(t, "loadtest", "scenarios", "*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d examples, error %v", len(files), err)
	}
	server := targettest.Start(t, func([]byte) ([]string, error) { return []string{"espresso"}, nil })
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s, err := scenario.Read(file, scenario.Change{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range s.Requests {
				here(&s.Requests[i], server)
			}
			work, err := workload.New(s.Requests, s.Seed)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = work.Close() }()
			whole := measure.NewRecorder()
			runner := stage.Runner{Workload: work, Progress: report.NewProgress(new(strings.Builder), false), Whole: whole}
			for _, one := range s.Stages {
				one.Duration, one.Requests, one.Warmup.Duration = min(one.Duration, 300*time.Millisecond), min(one.Requests, 20), min(one.Warmup.Duration, 50*time.Millisecond)
				if r := runner.Run(t.Context(), one); r.Result.InFlight != 0 || len(r.Verdicts) != len(one.Thresholds) {
					t.Errorf("%s: %+v", one.Name, r.Result)
				}
			}
			r := whole.Result()
			if r.Requests() == 0 {
				t.Error("nothing was sent")
			}
			for _, f := range r.Faults {
				if f.Kind != measure.WrongAnswer {
					t.Errorf("%d times %s: %s", f.Count, f.Kind, f.Example)
				}
			}
		})
	}
}

// here leads requests to the test's server, with the names that it knows.
func here(s *workload.Spec, server *targettest.Server) {
	s.Target.Model, s.Target.URL = targettest.Model, server.URL
	if s.Target.Protocol == target.GRPC {
		s.Target.URL = server.Address
	}
	if s.Tensor != "" {
		s.Tensor = targettest.Tensor + ":UINT8:3"
	}
}
