package cluster_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"triptych/cli/chaos/spots"
	"triptych/cli/cluster"
	"triptych/cli/cluster/clustertest"
	"triptych/shared/testkit"
)

// ask sends a request and gives the body of the answer.
func ask(t *testing.T, method, url string, body []byte, want int) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		t.Fatalf("%s %s: %d %s, %v", method, url, resp.StatusCode, data, err)
	}
	return data
}

// statistics is the part of a model's statistics that says how it was run.
type statistics struct {
	Models []struct {
		Batches []struct {
			Size    int `json:"batch_size"`
			Compute struct {
				Count int `json:"count"`
			} `json:"compute_infer"`
		} `json:"batch_stats"`
	} `json:"model_stats"`
}

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
	url := "http://" + up.HTTP
	var before sync.WaitGroup
	before.Go(func() { classify(t, url, picture) })
	var job struct{ ID, State string }
	testkit.Eventually(t, 10*time.Second, "jobs are taken", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/jobs?model="+spots.Slow, form(t, picture))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusAccepted && json.NewDecoder(resp.Body).Decode(&job) == nil
	})
	classify(t, url, picture)
	before.Wait()
	testkit.Eventually(t, 10*time.Second, "the job is done", func() bool {
		err := json.Unmarshal(ask(t, http.MethodGet, url+"/v1/jobs/"+job.ID, nil, http.StatusOK), &job)
		return err == nil && job.State == "done"
	})
	var got statistics
	if err := json.Unmarshal(ask(t, http.MethodGet, url+"/v2/models/"+spots.Slow+"_model/stats", nil, http.StatusOK), &got); err != nil {
		t.Fatal(err)
	}
	sizes := map[int]int{}
	for _, m := range got.Models {
		for _, b := range m.Batches {
			sizes[b.Size] += b.Compute.Count
		}
	}
	if want := map[int]int{1: 1, 2: 1}; !maps.Equal(sizes, want) {
		t.Errorf("batches by size: %v, want %v", sizes, want)
	}
}

// classify asks for the answer and checks that it came.
func classify(t *testing.T, url string, picture []byte) {
	t.Helper()
	resp, err := http.Post(url+"/v1/classify?model="+spots.Slow, "image/png", bytes.NewReader(picture))
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("got %s", resp.Status)
	}
}

const boundary = "triptych"

// form is a picture as the only item of a job.
func form(t *testing.T, picture []byte) io.Reader {
	t.Helper()
	head := fmt.Sprintf("--%s\r\nContent-Disposition: form-data; name=\"image\"; filename=\"spot.png\"\r\n\r\n", boundary)
	return io.MultiReader(strings.NewReader(head), bytes.NewReader(picture), strings.NewReader("\r\n--"+boundary+"--\r\n"))
}
