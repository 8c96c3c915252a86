package feed_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pb "triptych/proto/jobs"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

func TestChain(t *testing.T) {
	store := newSystem(t).store()
	serve(t, store, &models{})
	newGateway(t, store, quick(), telemetry.Discard())
	accept(t, store, "j", 300)
	job := ended(t, store, "j")
	if diff := cmp.Diff(&pb.Counts{Succeeded: 300}, job.GetCounts(), protocmp.Transform()); diff != "" || job.GetState() != pb.State_STATE_DONE {
		t.Errorf("%s: %s", job.GetState(), diff)
	}
	v, _, err := store.Verdict(t.Context(), "j", 123)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := oip.Output(v.GetResponse(), "ANSWER")
	if want := oip.JoinStrings("image 123"); string(want) != string(out.Data) {
		t.Errorf("the answer is %q", out.Data)
	}
	testkit.Eventually(t, soon, "the pages are dropped", func() bool { return len(pages(t, store, "j")) == 0 })
}
