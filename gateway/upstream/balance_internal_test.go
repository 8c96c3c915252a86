package upstream

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triptych/gateway/upstream/standing"
)

// outcast is the standing of one that was left 10 s ago.
func outcast() *standing.Standing {
	s := standing.New(time.Second)
	s.Leave(time.Now().Add(-10*time.Second), false)
	return s
}

// ramping is that of one that has just passed its trial.
func ramping(t *testing.T) *standing.Standing {
	t.Helper()
	s, now := outcast(), time.Now()
	if !s.Look(now) {
		t.Fatal("nobody looks")
	}
	s.Found(now, true)
	if _, back := s.End(now, standing.Good, s.Try()); !back {
		t.Fatal("it is not back")
	}
	return s
}

// idle is a connection that was never asked for.
func idle(t *testing.T) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///nobody", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// One that comes back gets less calls than others that are in, and all rather than
// one that is out.
func TestPickWhileOneComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		well := standing.New(time.Second)
		for name, tt := range map[string]struct {
			standings   []*standing.Standing
			tried       int // its index
			least, most [3]int
		}{
			"beside one that is out":   {[]*standing.Standing{outcast(), ramping(t)}, -1, [3]int{0, 1000}, [3]int{0, 1000}},
			"the other was tried":      {[]*standing.Standing{outcast(), ramping(t), well}, 2, [3]int{0, 1000, 0}, [3]int{0, 1000, 0}},
			"beside one that is in":    {[]*standing.Standing{well, ramping(t)}, -1, [3]int{800, 10}, [3]int{990, 200}},
			"none is in or comes back": {[]*standing.Standing{outcast(), outcast()}, -1, [3]int{300, 300}, [3]int{700, 700}},
		} {
			f := &Fleet{began: time.Now()}
			var to target
			var tried *replica
			for i, s := range tt.standings {
				r := &replica{standing: s, conn: idle(t)}
				if to.replicas = append(to.replicas, r); i == tt.tried {
					tried = r
				}
			}
			calls := map[*replica]int{}
			for range 1000 {
				r, _ := f.pick(to, tried)
				calls[r]++
			}
			for i, r := range to.replicas {
				if n := calls[r]; n < tt.least[i] || n > tt.most[i] {
					t.Errorf("%s: replica %d got %d calls, want %d to %d", name, i, n, tt.least[i], tt.most[i])
				}
			}
		}
	})
}
