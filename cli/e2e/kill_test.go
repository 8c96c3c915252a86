package e2e_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"triptych/cli/e2e/process"
	"triptych/shared/testkit"
)

// traffic calls the gateway from several callers at once and keeps count.
type traffic struct {
	url    string
	client *http.Client
	image  []byte
	label  string

	ok, away atomic.Int64
	mu       sync.Mutex
	wrong    []string
}

func newTraffic(t *testing.T, address string) *traffic {
	t.Helper()
	image, err := os.ReadFile(testkit.Path(t, "testdata", "images", "coffee.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	tr := &traffic{
		url:    "http://" + address + "/v1/classify",
		client: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: callers}},
		image:  image, label: "espresso",
	}
	t.Cleanup(func() {
		tr.client.CloseIdleConnections()
		for _, w := range tr.wrong {
			t.Error(w)
		}
	})
	crowd(t, tr.call)
	return tr
}

func (tr *traffic) call() {
	resp, err := tr.client.Post(tr.url, "image/jpeg", bytes.NewReader(tr.image))
	if err != nil {
		tr.complain("the gateway did not answer: " + err.Error())
		return
	}
	defer resp.Body.Close()
	var answer struct {
		Error   string `json:"error"`
		Results []struct {
			Predictions []struct {
				Label string `json:"label"`
			} `json:"predictions"`
		} `json:"results"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		tr.complain("an answer is not JSON: " + err.Error())
		return
	}
	switch {
	case resp.StatusCode == http.StatusOK && answer.Results[0].Predictions[0].Label == tr.label:
		tr.ok.Add(1)
	case resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "" && answer.Error != "":
		tr.away.Add(1)
		time.Sleep(10 * time.Millisecond) // a caller that is told to come later does
	default:
		tr.complain(resp.Status + ": " + answer.Error)
	}
}

func (tr *traffic) complain(what string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.wrong) < 10 {
		tr.wrong = append(tr.wrong, what)
	}
}

// TestKill kills each stage under load: the others live, callers are told 503
// with a hint, and when the stage is back everything works without a restart.
func TestKill(t *testing.T) {
	programs := process.Programs(t)
	models := []string{"--model-repository", testkit.Path(t, "models")}
	addresses := map[string]string{}
	stages := map[string]*process.Process{}
	for _, name := range []string{"preprocess", "predictor", "postprocess"} {
		addresses[name] = process.Address(t)
		stages[name] = process.NewService(t, programs, name, addresses[name], models...)
		stages[name].Start()
	}
	front := process.Address(t)
	gateway := process.NewService(t, programs, "gateway", process.Address(t), append(models, "--http-address", front,
		"--upstreams", addresses["preprocess"]+","+addresses["predictor"]+","+addresses["postprocess"])...)
	gateway.Start()
	testkit.Eventually(t, 30*time.Second, "the gateway is ready", gateway.Ready)
	tr := newTraffic(t, front)
	testkit.Eventually(t, 20*time.Second, "answers", func() bool { return tr.ok.Load() > 20 })

	for _, name := range []string{"predictor", "preprocess", "postprocess"} {
		t.Run(name, func(t *testing.T) {
			stages[name].Kill()
			away := tr.away.Load()
			testkit.Eventually(t, 10*time.Second, "callers are told 503", func() bool { return tr.away.Load() > away+20 })
			for other, p := range stages {
				if other != name && !p.Alive() {
					t.Errorf("%s died with %s", other, name)
				}
			}
			if !gateway.Alive() || !gateway.Ready() {
				t.Error("the gateway is not ready any more: one stage must not take it out")
			}
			stages[name].Start()
			testkit.Eventually(t, 30*time.Second, "the stage is ready again", stages[name].Ready)
			ok := tr.ok.Load()
			testkit.Eventually(t, 15*time.Second, "answers again", func() bool { return tr.ok.Load() > ok+20 })
		})
	}
}
