package queue_test

import (
	"fmt"
	"strings"
	"testing"

	"triptych/gateway/admission/queue"
)

var (
	ann = queue.Tenant{Name: "ann", Weight: 3}
	bob = queue.Tenant{Name: "bob", Weight: 1}
	cat = queue.Tenant{Name: "cat", Weight: 1}
)

// all is what the queue gives until it is empty.
func all(q *queue.Queue[string]) string {
	var got []string
	for {
		item, ok := q.Pop()
		if !ok {
			return strings.Join(got, " ")
		}
		got = append(got, item.Value)
	}
}

func TestOrder(t *testing.T) {
	tests := map[string]struct {
		fill func(q *queue.Queue[string])
		want string
	}{
		"empty":              {func(*queue.Queue[string]) {}, ""},
		"first come":         {func(q *queue.Queue[string]) { q.Push(2, bob, "1"); q.Push(2, bob, "2"); q.Push(2, bob, "3") }, "1 2 3"},
		"urgent goes first":  {func(q *queue.Queue[string]) { q.Push(3, bob, "3"); q.Push(1, bob, "1"); q.Push(2, bob, "2") }, "1 2 3"},
		"levels are bounded": {func(q *queue.Queue[string]) { q.Push(99, bob, "99"); q.Push(8, bob, "8"); q.Push(0, bob, "0") }, "0 99 8"},
		"tenants take turns": {func(q *queue.Queue[string]) { fill(q, 2, bob, 3); fill(q, 2, cat, 3) }, "bob0 cat0 bob1 cat1 bob2 cat2"},
		"by weight":          {func(q *queue.Queue[string]) { fill(q, 2, bob, 2); fill(q, 2, ann, 6) }, "ann0 bob0 ann1 ann2 ann3 bob1 ann4 ann5"},
		"one who left": {func(q *queue.Queue[string]) {
			a := q.Push(2, bob, "a")
			b := q.Push(2, bob, "b")
			q.Push(2, bob, "c")
			q.Remove(b)
			q.Remove(a)
		}, "c"},
		"no credit for absence": {func(q *queue.Queue[string]) { fill(q, 2, bob, 6); pop(q, 4); fill(q, 2, cat, 4) }, "cat0 bob4 cat1 bob5 cat2 cat3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q := &queue.Queue[string]{}
			tt.fill(q)
			if got := all(q); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if q.Len() != 0 {
				t.Errorf("%d are left", q.Len())
			}
		})
	}
}

func fill(q *queue.Queue[string], level int, tenant queue.Tenant, n int) {
	for i := range n {
		q.Push(level, tenant, fmt.Sprint(tenant.Name, i))
	}
}

func pop(q *queue.Queue[string], n int) {
	for range n {
		q.Pop()
	}
}

// Who is one too many is of the least urgent level, of the tenant furthest above its
// share, and the newest there.
func TestLoser(t *testing.T) {
	tests := map[string]struct {
		fill   func(q *queue.Queue[string])
		level  int
		tenant queue.Tenant
		want   string // "" is the newcomer
	}{
		"empty":                        {func(*queue.Queue[string]) {}, 2, bob, ""},
		"its own level":                {func(q *queue.Queue[string]) { fill(q, 2, bob, 3) }, 2, bob, ""},
		"less urgent than all":         {func(q *queue.Queue[string]) { fill(q, 2, bob, 3) }, 3, ann, ""},
		"more urgent":                  {func(q *queue.Queue[string]) { fill(q, 2, bob, 3) }, 1, bob, "bob2"},
		"of the least urgent":          {func(q *queue.Queue[string]) { fill(q, 2, bob, 3); fill(q, 5, cat, 2) }, 1, bob, "cat1"},
		"another is above its share":   {func(q *queue.Queue[string]) { fill(q, 2, bob, 3) }, 2, cat, "bob2"},
		"as far above as another":      {func(q *queue.Queue[string]) { fill(q, 2, bob, 3); fill(q, 2, cat, 2) }, 2, cat, ""},
		"a weight counts":              {func(q *queue.Queue[string]) { fill(q, 2, ann, 5); fill(q, 2, bob, 2) }, 2, ann, ""},
		"a weight counts, the other":   {func(q *queue.Queue[string]) { fill(q, 2, ann, 4); fill(q, 2, bob, 2) }, 2, ann, "bob1"},
		"in another level, the most":   {func(q *queue.Queue[string]) { fill(q, 4, ann, 5); fill(q, 4, bob, 2) }, 2, bob, "bob1"},
		"nobody of the level is there": {func(q *queue.Queue[string]) { fill(q, 1, ann, 5) }, 2, bob, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q := &queue.Queue[string]{}
			tt.fill(q)
			got := ""
			if item := q.Loser(tt.level, tt.tenant); item != nil {
				got = item.Value
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAhead(t *testing.T) {
	q := &queue.Queue[string]{}
	fill(q, 1, bob, 2)
	fill(q, 2, bob, 4)
	fill(q, 2, ann, 5)
	fill(q, 3, bob, 9)
	for name, tt := range map[string]struct {
		level  int
		tenant queue.Tenant
		want   int
	}{
		"more urgent than all":    {0, cat, 1}, // level 1, where bob has one turn before cat
		"a new tenant":            {2, cat, 2 + 1 + 3},
		"behind its own":          {2, bob, 2 + 4 + 5},
		"with a greater weight":   {2, ann, 2 + 5 + 2},
		"the least urgent of all": {8, cat, 20},
	} {
		t.Run(name, func(t *testing.T) {
			if got := q.Ahead(tt.level, tt.tenant); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
	if got := q.LenOf(3); got != 9 {
		t.Errorf("%d wait in level 3", got)
	}
}

// Tenants without end take no memory without end.
func TestManyTenants(t *testing.T) {
	q := &queue.Queue[string]{}
	q.Push(2, ann, "stays")
	for i := range 10_000 {
		item := q.Push(2, queue.Tenant{Name: fmt.Sprint(i), Weight: 1}, "goes")
		q.Remove(item)
	}
	if got := q.Remembered(); got > 300 {
		t.Errorf("%d tenants are remembered", got)
	}
	if got := all(q); got != "stays" {
		t.Errorf("left is %q", got)
	}
}
