package modelconfig

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// MetricLabel is the label of a model's metrics that a key of metric_tags becomes:
// `_<key>`, with a `_` for what no label may have.
func MetricLabel(key string) string {
	valid := strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, key)
	return "_" + strings.TrimLeft(valid, "_") // two at the beginning are Prometheus' own
}

// checkMetrics refuses what no metric can show.
func (d *Document) checkMetrics() error {
	keys := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(d.Config.GetMetricTags())) {
		label := MetricLabel(key)
		if other, taken := keys[label]; taken {
			return d.failf([]place{d.where.entry(nil, "metric_tags", strconv.Quote(key))}, "metric_tags %q and %q are both the label %s", other, key, label)
		}
		keys[label] = key
	}
	for i, control := range d.Config.GetModelMetrics().GetMetricControl() {
		buckets := control.GetHistogramOptions().GetBuckets()
		for j, bucket := range buckets {
			here := []place{{"model_metrics", 0}, {"metric_control", i}, {"histogram_options", 0}, {"buckets", j}}
			if math.IsNaN(bucket) || math.IsInf(bucket, 0) {
				return d.failf(here, "bucket %v is not a number that times can be held against", bucket)
			}
			if j > 0 && bucket <= buckets[j-1] {
				return d.failf(here, "bucket %v does not come after %v: buckets must rise", bucket, buckets[j-1])
			}
		}
	}
	return nil
}
