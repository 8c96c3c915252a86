package gateway_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"triptych/gateway"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

// few is a model that works on so many requests at a time, of which each takes a
// while, and counts those inside.
type few struct {
	free   chan struct{}
	takes  time.Duration
	inside atomic.Int64
	most   atomic.Int64
}

func (f *few) backend() servertest.Backend {
	double := servertest.Map(func(x float32) float32 { return 2 * x })
	return servertest.Backend{Kind: "few", OnLoad: func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return servertest.Model{OnInfer: func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			if n := f.inside.Add(1); n > f.most.Load() {
				f.most.Store(n)
			}
			defer f.inside.Add(-1)
			f.free <- struct{}{}
			time.Sleep(f.takes)
			<-f.free
			return double.OnInfer(ctx, req)
		}}, nil
	}}
}

// head is a gateway before the few.
func head(t *testing.T, f *few, configure func(*gateway.Config)) *gateway.Gateway {
	t.Helper()
	folder := servertest.Repository(t, map[string]string{"few/config.pbtxt": servertest.MapConfig("few"), "few/1/model.bin": ""})
	behind := servertest.Start(t, servertest.Options{Folders: []string{folder}}, f.backend())
	common, cfg := settings(t)
	common.Repository = []string{folder}
	cfg.Upstreams.Addresses = []string{behind.Address}
	configure(&cfg)
	return running(t, common, cfg)
}

const fewBody = `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]}`

// askFew sends a request over HTTP.
func askFew(t *testing.T, g *gateway.Gateway, body io.Reader, headers ...string) (status int, header http.Header, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.HTTPAddress()+"/v2/models/few/infer", body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

// Both doors share one limit and one queue; who is refused is told when to come back,
// and the urgent come first.
func TestModelsAreAdmitted(t *testing.T) {
	f := &few{free: make(chan struct{}, 1)}
	g := head(t, f, func(c *gateway.Config) {
		c.Admission.Models.Limit.Fixed, c.Admission.Models.MaxQueue, c.Admission.Models.MaxWait = 1, 1, time.Minute
	})
	f.free <- struct{}{} // nobody gets on
	var running sync.WaitGroup
	answers := make(chan string, 3)
	send := func(name string, headers ...string) {
		running.Go(func() {
			status, _, _ := askFew(t, g, strings.NewReader(fewBody), headers...)
			answers <- name + " " + strconv.Itoa(status)
		})
	}
	send("first")
	testkit.Eventually(t, patience, "the first is in work", func() bool { return f.inside.Load() == 1 })
	send("usual")
	testkit.Eventually(t, patience, "it waits", func() bool {
		return metricOf(t, g, `triptych_admission_waiting`) == 1 || metricOf(t, g, "triptych_admission_requests_in_flight") == 2
	})
	client := servertest.Client(t, g.GRPCAddress())
	waits := func() error {
		_, err := client.ModelInfer(t.Context(), servertest.Request("few", 1, 2))
		return failure.FromStatus(err, "the gateway")
	}
	testkit.Eventually(t, patience, "the queue is full", func() bool { return failure.KindOf(waits()) == failure.Busy })
	if err := waits(); failure.RetryAfter(err) < time.Second || !strings.Contains(err.Error(), `"few" is busy`) {
		t.Errorf("gRPC: %v, come back in %s", err, failure.RetryAfter(err))
	}
	status, header, text := askFew(t, g, endless{}, "Expect", "100-continue")
	if after, _ := strconv.Atoi(header.Get("Retry-After")); status != http.StatusTooManyRequests || after < 1 || !strings.Contains(text, `"BUSY"`) {
		t.Errorf("HTTP: %d %s %v", status, text, header)
	}
	send("urgent", "triptych-priority", "1")
	if got := <-answers; got != "usual 429" {
		t.Errorf("pushed out is %q", got)
	}
	<-f.free
	got := []string{<-answers, <-answers} // read here in any order
	slices.Sort(got)
	if want := []string{"first 200", "urgent 200"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	running.Wait()
	if got := f.most.Load(); got != 1 {
		t.Errorf("%d were in work at a time", got)
	}
}

// endless is a body that nobody should read.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte(" "), len(p))), nil }

// metricOf is the sum of a metric's series on the admin port.
func metricOf(t *testing.T, g *gateway.Gateway, name string) (sum float64) {
	t.Helper()
	resp, err := http.Get("http://" + g.AdminAddress() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, name+"{") {
			v, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " ")+1:]), 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
	}
	return sum
}

func TestTenantNames(t *testing.T) {
	f := &few{free: make(chan struct{}, 1)}
	g := head(t, f, func(c *gateway.Config) { c.Admission.Models.Weights = "ann=2" })
	client := servertest.Client(t, g.GRPCAddress())
	for name, ok := range map[string]bool{"ann": true, "someone": true, "two words": false, strings.Repeat("x", 65): false} {
		status, _, text := askFew(t, g, strings.NewReader(fewBody), "triptych-tenant", name)
		if (status == http.StatusOK) != ok || !ok && status != http.StatusBadRequest {
			t.Errorf("HTTP %q: %d %s", name, status, text)
		}
		_, err := client.ModelInfer(metadata.AppendToOutgoingContext(t.Context(), "triptych-tenant", name), servertest.Request("few", 1, 2))
		if err = failure.FromStatus(err, "the gateway"); (err == nil) != ok || !ok && failure.KindOf(err) != failure.Invalid {
			t.Errorf("gRPC %q: %v", name, err)
		}
	}
	if got := metricOf(t, g, "triptych_admission_tenant_requests_total"); got != 4 {
		t.Errorf("%.0f requests of tenants", got)
	}
}

// Three times as many as a model can do, over the real doors: it does what it can,
// the others are told soon, and nothing ends otherwise.
func TestOverload(t *testing.T) {
	f := &few{free: make(chan struct{}, 4), takes: 100 * time.Millisecond} // 40 a second at most, which a busy machine can do too
	g := head(t, f, func(*gateway.Config) {})
	client := servertest.Client(t, g.GRPCAddress())
	var good, busy, other atomic.Int64
	var running sync.WaitGroup
	begin := time.Now()
	tick := time.NewTicker(time.Second / 120)
	defer tick.Stop()
	for n := 0; time.Since(begin) < 3*time.Second; n++ {
		<-tick.C
		running.Go(func() {
			_, err := client.ModelInfer(t.Context(), servertest.Request("few", 1, 2))
			switch {
			case err == nil:
				good.Add(1)
			case failure.KindOf(failure.FromStatus(err, "the gateway")) == failure.Busy:
				busy.Add(1)
			default:
				other.Add(1)
			}
		})
	}
	running.Wait()
	took := time.Since(begin).Seconds()
	if rate := float64(good.Load()) / took; rate < 24 {
		t.Errorf("%.0f answers a second, want 24 or more", rate)
	}
	if busy.Load() == 0 || other.Load() > 0 {
		t.Errorf("%d were refused, %d ended otherwise", busy.Load(), other.Load())
	}
	if got, want := metricOf(t, g, "triptych_admission_shed_total"), float64(busy.Load()); got != want {
		t.Errorf("%.0f refusals are counted, there were %.0f", got, want)
	}
}
