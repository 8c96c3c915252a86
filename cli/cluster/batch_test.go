package cluster_test

import (
	"bytes"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"triptych/cli/chaos/spots"
	"triptych/cli/client"
	"triptych/cli/cluster"
	"triptych/cli/cluster/clustertest"
	"triptych/gateway/jobs/jobstest"
	"triptych/proto/inference"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

// An item of a job and a request for whose answer somebody waits are run in one batch,
// when both come while the model is busy with another.
func TestBothRoadsInOneBatch(t *testing.T) {
	repository := spots.Repository(t)
	path := filepath.Join(repository, spots.Slow+"_model", "config.pbtxt")
	model, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	slow := strings.Replace(string(model), `"100000"`, `"2000000"`, 1)
	if err := os.WriteFile(path, []byte(slow), 0o600); err != nil {
		t.Fatal(err)
	}
	up := clustertest.Up(t, repository, 12, func(c *cluster.Config) { c.NATS.Directory = t.TempDir() })
	picture, err := spots.Picture(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New("http://"+up.HTTP, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	classify := func() {
		if _, err := c.Classify(t.Context(), spots.Slow, 0, picture); err != nil {
			t.Error(err)
		}
	}
	var before sync.WaitGroup
	before.Go(classify)
	var job client.Job
	testkit.Eventually(t, 10*time.Second, "jobs are taken", func() bool {
		body, contentType := jobstest.Form(string(picture))
		job, err = c.Submit(t.Context(), client.Submission{
			Settings: url.Values{"model": {spots.Slow}}, ContentType: contentType, Size: int64(len(body)), Body: bytes.NewReader(body),
		})
		return err == nil
	})
	classify()
	before.Wait()
	testkit.Eventually(t, 10*time.Second, "the job is done", func() bool {
		got, err := c.Job(t.Context(), job.ID)
		return err == nil && got.State == "done"
	})
	got, err := servertest.Client(t, up.GRPC).ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: spots.Slow + "_model"})
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[uint64]uint64{}
	for _, m := range got.GetModelStats() {
		for _, b := range m.GetBatchStats() {
			sizes[b.GetBatchSize()] += b.GetComputeInfer().GetCount()
		}
	}
	if want := map[uint64]uint64{1: 1, 2: 1}; !maps.Equal(sizes, want) {
		t.Errorf("batches by size: %v, want %v", sizes, want)
	}
}
