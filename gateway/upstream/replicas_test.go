package upstream_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

// names is a name server on loopback that knows one name.
type names struct {
	conn net.PacketConn
	mu   sync.Mutex
	all  []net.IP
}

const service = "predictor.triptych.test"

func (n *names) set(addresses ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = nil
	for _, a := range addresses {
		n.all = append(n.all, net.ParseIP(a).To4())
	}
}

func (n *names) serve() {
	buffer := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buffer[:size]) != nil {
			continue
		}
		answer := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RCode: dnsmessage.RCodeNameError}, Questions: m.Questions}
		if q := m.Questions[0]; q.Name.String() == service+"." {
			answer.RCode = dnsmessage.RCodeSuccess
			if q.Type == dnsmessage.TypeA {
				answer.Answers = n.answers(q.Name)
			}
		}
		if packed, err := answer.Pack(); err == nil {
			_, _ = n.conn.WriteTo(packed, from)
		}
	}
}

func (n *names) answers(name dnsmessage.Name) []dnsmessage.Resource {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []dnsmessage.Resource
	for _, ip := range n.all {
		list = append(list, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 1},
			Body:   &dnsmessage.AResource{A: [4]byte(ip)},
		})
	}
	return list
}

// startNames makes the system's resolver ask a name server of this test. The test
// must not be parallel: there is one resolver.
func startNames(t *testing.T) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{conn: conn}
	var served sync.WaitGroup
	served.Go(n.serve)
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		_ = conn.Close()
		served.Wait()
	})
	return n
}

// RPC-03: each call is balanced by itself, over the replicas behind a name that
// have its model ready, and over no others.
func TestSpread(t *testing.T) {
	dns := startNames(t)
	_, port, err := net.SplitHostPort(testkit.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	dns.set("127.0.0.2", "127.0.0.3", "127.0.0.4")
	serve(t, "127.0.0.2:"+port, 2, "a", "most", "one")
	serve(t, "127.0.0.3:"+port, 3, "a", "most")
	serve(t, "127.0.0.4:"+port, 4, "a")
	f := start(t, service+":"+port)
	for model, replicas := range map[string]int{"a": 3, "most": 2, "one": 1} {
		answers := map[float32]int{}
		for range 100 * replicas {
			if y := infer(t, f, model, 0, 0); len(y) > 0 {
				answers[y[0]]++
			}
		}
		for x, n := range answers {
			if n < 60 || n > 140 {
				t.Errorf("%s: replica %v got %d of %d calls", model, x, n, 100*replicas)
			}
		}
		if len(answers) != replicas {
			t.Errorf("%s: the answers came from %v", model, answers)
		}
	}
}

// TestLeaving takes a replica's name away while it runs a call: the call ends well,
// and the next goes elsewhere.
func TestLeaving(t *testing.T) {
	dns := startNames(t)
	_, port, err := net.SplitHostPort(testkit.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	dns.set("127.0.0.2")
	one := block(t, "127.0.0.2:"+port)
	f := start(t, service+":"+port)
	failed := make(chan error, 1)
	go func() {
		_, _, err := f.Infer(t.Context(), servertest.Request("a", 1, 2))
		failed <- err
	}()
	<-one.running
	serve(t, "127.0.0.3:"+port, 3, "a")
	dns.set("127.0.0.3")
	eventually(t, "the other has taken over", func() bool {
		nextRound(t, f)
		resp, _, err := f.Infer(within(t, 10*interval), servertest.Request("a", 0, 0))
		return err == nil && servertest.Answer(resp, "y")[0] == 3
	})
	nextRound(t, f)
	nextRound(t, f)
	if n := f.Connected(); n != 2 {
		t.Errorf("%d connections while a call runs", n)
	}
	close(one.release)
	if err := <-failed; err != nil {
		t.Error(err)
	}
	eventually(t, "its connection is closed", func() bool { return f.Connected() == 1 })
}

// TestReplicas has three replicas behind one name.
func TestReplicas(t *testing.T) {
	dns := startNames(t)
	dns.set("127.0.0.2", "127.0.0.3")
	_, port, err := net.SplitHostPort(testkit.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	one, two := serve(t, "127.0.0.2:"+port, 2, "a", "b"), serve(t, "127.0.0.3:"+port, 3, "a", "b")
	f := start(t, service+":"+port)

	answerers := func(n int) map[float32]int {
		answers := map[float32]int{}
		for range n {
			if y := infer(t, f, "a", 0, 0); len(y) > 0 {
				answers[y[0]]++
			}
		}
		return answers
	}
	eventually(t, "both replicas answer", func() bool { return len(answerers(4)) == 2 })
	if got := answerers(100); got[2] < 20 || got[3] < 20 {
		t.Errorf("the answers came from %v", got)
	}

	// Each replica is asked, and told.
	var mu sync.Mutex
	inferences := map[string]uint64{}
	if err := f.Each("a", true, func(c inference.GRPCInferenceServiceClient) error {
		resp, err := c.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: "a"})
		mu.Lock()
		defer mu.Unlock()
		for _, m := range resp.GetModelStats() {
			inferences["all"] += m.GetInferenceCount()
		}
		inferences["replicas"]++
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if inferences["replicas"] != 2 || inferences["all"] < 104 {
		t.Errorf("counted %v", inferences)
	}
	if err := f.Each("b", true, func(c inference.GRPCInferenceServiceClient) error {
		_, err := c.RepositoryModelUnload(t.Context(), &inference.RepositoryModelUnloadRequest{ModelName: "b"})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	unloaded := func(s *servertest.Server) bool {
		return slices.ContainsFunc(s.Registry.Index(false), func(m *inference.RepositoryIndexResponse_ModelIndex) bool {
			return m.GetName() == "b" && m.GetReason() == modelserver.Unloaded
		})
	}
	if !unloaded(one) || !unloaded(two) {
		t.Error("the order did not come to both")
	}

	// One that joins later comes to the same set of models.
	three := serve(t, "127.0.0.4:"+port, 4, "a", "b")
	dns.set("127.0.0.2", "127.0.0.3", "127.0.0.4")
	eventually(t, "the third is told what the others were", func() bool { return unloaded(three) })
	nextRound(t, f)
	if got := index(f); !slices.Equal(got, []string{"a/1 READY", "b/1 UNAVAILABLE unloaded"}) {
		t.Errorf("got %v", got)
	}
	// One that restarts too.
	two.Kill()
	eventually(t, "its absence costs nothing", func() bool { return f.Ready() == nil })
	nextRound(t, f)
	two = serve(t, "127.0.0.3:"+port, 3, "a", "b")
	eventually(t, "it is told what the others were", func() bool { return unloaded(two) })

	// A name that is gone for a while leaves what was known.
	dns.set()
	eventually(t, "that is noticed", func() bool { return f.Ready() != nil })
	if got := index(f); !slices.Equal(got, []string{"a/1 UNAVAILABLE " + service + ":" + port + " can't be resolved", "b/1 UNAVAILABLE " + service + ":" + port + " can't be resolved"}) {
		t.Errorf("got %v", got)
	}
	dns.set("127.0.0.4")
	eventually(t, "it is found again", func() bool { return f.Ready() == nil })
	if got := index(f); !slices.Equal(got, []string{"a/1 READY", "b/1 UNAVAILABLE unloaded"}) {
		t.Errorf("got %v", got)
	}
}

// A replica that joins loads what its peers have loaded since they started.
func TestReplicaLoadsWhatPeersHave(t *testing.T) {
	dns := startNames(t)
	_, port, err := net.SplitHostPort(testkit.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	dns.set("127.0.0.2")
	folder := servertest.Repository(t, map[string]string{"a/config.pbtxt": servertest.MapConfig("adding"), "b/config.pbtxt": servertest.MapConfig("adding")})
	explicit := func(address string) *servertest.Server {
		return servertest.Start(t, servertest.Options{Address: address, Folders: []string{folder}, Control: true, Load: []string{}}, adding("adding", 1))
	}
	one := explicit("127.0.0.2:" + port)
	f := start(t, service+":"+port)
	if got := index(f); !slices.Equal(got, []string{"a/ UNAVAILABLE unloaded", "b/ UNAVAILABLE unloaded"}) {
		t.Errorf("got %v", got)
	}
	if err := f.Each("a", true, func(c inference.GRPCInferenceServiceClient) error {
		_, err := c.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: "a"})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	f.Refresh(t.Context())
	if got := index(f); !slices.Equal(got, []string{"a/1 READY", "b/ UNAVAILABLE unloaded"}) {
		t.Errorf("got %v", got)
	}
	two := explicit("127.0.0.3:" + port)
	dns.set("127.0.0.2", "127.0.0.3")
	eventually(t, "it serves what its peer does", func() bool { return len(two.Registry.Index(true)) == 1 })
	if got, want := len(two.Registry.Index(false)), len(one.Registry.Index(false)); got != want {
		t.Errorf("it knows %d versions, its peer %d", got, want)
	}
}
