package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// usage is the processor time of each process.
type usage map[string]time.Duration

func (s *system) usage() (usage, error) {
	u := usage{}
	var err error
	if u["nats"], err = s.nats.CPU(); err != nil {
		return nil, err
	}
	for _, service := range s.Services {
		if u[service.Name], err = service.Server().CPU(); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// each says what one of so many items took in each process, and in all.
func (u usage) each(before usage, items int) string {
	list := make([]string, 0, len(u))
	var sum time.Duration
	for _, name := range slices.Sorted(maps.Keys(u)) {
		spent := u[name] - before[name]
		sum += spent
		list = append(list, fmt.Sprintf("%s %.2f", name, 1e3*spent.Seconds()/float64(items)))
	}
	return fmt.Sprintf("CPU %.2f ms an item: %s", 1e3*sum.Seconds()/float64(items), strings.Join(list, ", "))
}
