package stream_test

import (
	"testing"

	"triptych/shared/stream"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ got, want string }{
		"plain":       {stream.Token("resnet-50"), "resnet-50"},
		"underscore":  {stream.Token("a_b"), "a_5fb"},
		"separators":  {stream.Token("a.b c*>"), "a_2eb_20c_2a_3e"},
		"other bytes": {stream.Token("ü"), "_c3_bc"},
		"stream":      {stream.StepStream("m.1"), "TRIPTYCH_STEP_m_2e1"},
		"task":        {stream.StepSubject("m.1", 2, "job", 3, 4), "triptych.step.m_2e1.2.job.3.4"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", name, test.got, test.want)
		}
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	for priority, want := range map[uint64]int{0: 2, 1: 1, 2: 2, 3: 3, 4: 3, 1 << 63: 3} {
		if got := stream.Level(priority); got != want {
			t.Errorf("priority %d is level %d, want %d", priority, got, want)
		}
	}
}

func TestItemOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		job  string
		item uint32
		ok   bool
	}{
		stream.VerdictSubject("j", "7"):          {"j", 7, true},
		stream.DeadSubject("j", "4294967295"):    {"j", 4294967295, true},
		stream.VerdictSubject("j", "-1"):         {"j", 0, false},
		stream.VerdictSubject("j", "4294967296"): {"j", 4294967295, false},
		"triptych.verdict.j":                     {"", 0, false},
		"triptych.verdict.j.1.2":                 {"", 0, false},
	}
	for subject, want := range tests {
		if job, item, ok := stream.ItemOf(subject); job != want.job || item != want.item || ok != want.ok {
			t.Errorf("%s is %q %d %t", subject, job, item, ok)
		}
	}
}

func TestStepOf(t *testing.T) {
	t.Parallel()
	whole := stream.Step{Level: 3, Job: "j", Item: 4294967295, Step: 2}
	if got, ok := stream.StepOf(stream.StepSubject("a.model *", whole.Level, whole.Job, whole.Item, whole.Step)); got != whole || !ok {
		t.Errorf("got %+v, %t", got, ok)
	}
	for _, subject := range []string{
		"", "triptych.step.a.1.j.0", "triptych.step.a.1.j.0.0.0", "triptych.note.a.1.j.0.0",
		stream.StepSubject("a", 0, "j", 0, 0), stream.StepSubject("a", 4, "j", 0, 0),
		"triptych.step.a.1.j.4294967296.0", "triptych.step.a.1.j.0.-1", "triptych.step.a.x.j.0.0",
	} {
		if got, ok := stream.StepOf(subject); ok {
			t.Errorf("%q is %+v", subject, got)
		}
	}
}
