package gate

import (
	"math"
	"strconv"
	"strings"
	"sync/atomic"

	"triptych/gateway/admission/queue"
	"triptych/shared/call"
	"triptych/shared/config"
)

// otherTenants is the label of all tenants without a weight of their own.
const otherTenants = "other"

// tenants are those that have a weight of their own, and one for all the others.
type tenants struct {
	named map[string]*account
	other account
}

// account counts what became of a tenant's requests.
type account struct {
	weight            float64
	admitted, refused atomic.Uint64
}

// parseWeights reads "a=3,b=1".
func parseWeights(text string) (map[string]float64, error) {
	weights := map[string]float64{}
	if strings.TrimSpace(text) == "" {
		return weights, nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(pair), "=")
		weight, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(weight) || weight < 0.001 || weight > 1e6 {
			return nil, config.Wrong("tenant-weights", "has %q, must be like a=3,b=1, with weights from 0.001 to 1000000", pair)
		}
		if name == otherTenants {
			return nil, config.Wrong("tenant-weights", "has the tenant %q, which is the name of all that have no weight", name)
		}
		if !call.ValidTenant(name) {
			return nil, config.Wrong("tenant-weights", "has the tenant %q, %s", name, call.TenantRule)
		}
		if _, twice := weights[name]; twice {
			return nil, config.Wrong("tenant-weights", "has the tenant %q twice", name)
		}
		weights[name] = weight
	}
	return weights, nil
}

func newTenants(text string) (*tenants, error) {
	weights, err := parseWeights(text)
	if err != nil {
		return nil, err
	}
	t := &tenants{named: make(map[string]*account, len(weights))}
	for name, weight := range weights {
		t.named[name] = &account{weight: weight}
	}
	t.other.weight = 1
	return t, nil
}

// of is a tenant as the queue knows it, and where it is counted. Callers that name
// no tenant are one together.
func (t *tenants) of(name string) (queue.Tenant, *account) {
	a, ok := t.named[name]
	if !ok {
		a = &t.other
	}
	return queue.Tenant{Name: name, Weight: a.weight}, a
}
