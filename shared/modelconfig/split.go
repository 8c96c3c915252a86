package modelconfig

import (
	"strconv"
	"strings"

	"triptych/proto/inference"
)

// SplitParameter is the parameter that lets requests with more rows than
// max_batch_size in, to be run in several batches.
const SplitParameter = "batch_split"

// MaxSplitRows is the most rows of a request that is split.
const MaxSplitRows = 1024

// Splits tells whether requests that are larger than max_batch_size are split.
// A value that is neither true nor false does not: Check refuses it.
func Splits(cfg *inference.ModelConfig) bool {
	on, err := strconv.ParseBool(strings.TrimSpace(cfg.GetParameters()[SplitParameter].GetStringValue()))
	return err == nil && on && cfg.GetMaxBatchSize() > 0
}
