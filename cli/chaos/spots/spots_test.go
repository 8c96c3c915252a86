package spots_test

import (
	"math"
	"testing"
	"time"

	"triptych/cli/chaos/spots"
	"triptych/cli/client"
	"triptych/cli/cluster/clustertest"
)

// The models see of each picture what Of says.
func TestOf(t *testing.T) {
	up := clustertest.Up(t, spots.Repository(t), 12)
	c, err := client.New("http://"+up.HTTP, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seen := map[spots.Spot]bool{}
	for _, n := range []int{0, 1, 61, 62, 63, 64, 700, 12347, spots.Poison} {
		for _, padding := range []int{0, 10, 100_000} {
			picture, err := spots.Picture(n, padding)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := c.Classify(t.Context(), spots.Model, 1, picture)
			if err != nil {
				t.Fatalf("picture %d with %d bytes more: %v", n, padding, err)
			}
			p := answer.Results[0].Predictions[0]
			if want := spots.Of(n); p.Class != want.Class || math.Abs(p.Score-float64(want.Score)) > 1e-3 {
				t.Errorf("picture %d: %+v, want %+v", n, p, want)
			}
		}
		seen[spots.Of(n)] = true
	}
	if len(seen) != 9 {
		t.Errorf("9 pictures have %d answers", len(seen))
	}
}

func TestPoisonByteIsNoOthers(t *testing.T) {
	if spots.PoisonByte() == 0 {
		t.Error("all pictures begin like the poisoned one")
	}
}
