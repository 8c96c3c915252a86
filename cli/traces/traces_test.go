package traces_test

import (
	"testing"

	"triptych/cli/traces"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestParent(t *testing.T) {
	t.Parallel()
	s := traces.Span{TraceID: "t", References: []traces.Reference{
		{RefType: traces.FollowsFrom, TraceID: "t", SpanID: "link"},
		{RefType: traces.ChildOf, TraceID: "other", SpanID: "far"},
		{RefType: traces.ChildOf, TraceID: "t", SpanID: "near"},
	}}
	if got := s.Parent(); got != "near" {
		t.Errorf("parent is %q, want %q", got, "near")
	}
}
