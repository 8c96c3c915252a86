package heap

import "testing"

func TestPercent(t *testing.T) {
	for name, tt := range map[string]struct {
		headroom int64
		roots    uint64
		want     int
	}{
		"half of it lives":  {64 << 20, 32 << 20, 200},
		"little lives":      {64 << 20, 8 << 20, 800},
		"as much lives":     {64 << 20, 64 << 20, 100},
		"more lives":        {64 << 20, 1 << 30, 100},
		"nothing lives":     {64 << 20, 0, 1600},
		"a headroom of all": {1 << 40, 1, 26_214_400},
	} {
		t.Run(name, func(t *testing.T) {
			if got := percent(tt.headroom, tt.roots); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
