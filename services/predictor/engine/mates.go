package engine

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"triptych/proto/inference"
	"triptych/shared/drift"
	"triptych/shared/oip"
)

// mateful is how much of its largest score an answer may differ by for what it
// shared a batch with: sums in another order stay far below it.
const mateful = 1e-3

// checkMates warns of models that answer a request otherwise for what it shares
// a batch with, as those do that are quantised dynamically: they take the range
// of numbers from the whole batch. Their users should know; whether to switch
// batching off is theirs to say.
func (s *Session) checkMates(ctx context.Context) {
	if !s.contract.batching || s.free() || s.narrow() {
		return
	}
	alone, err := s.Run(ctx, s.madeUp(1, noise))
	if err != nil {
		return // noise need not be a request that the model takes
	}
	together, err := s.Run(ctx, s.madeUp(2, func(t inference.DataType, size int64) []byte {
		data := noise(t, size/2)
		return slices.Concat(data, extremes(t, data))
	}))
	if err != nil {
		return
	}
	for i, was := range alone {
		is := together[i]
		if was.Datatype == oip.Bytes || len(is.Data) < len(was.Data) {
			continue
		}
		is.Data = is.Data[:len(was.Data)]
		if d, err := drift.Compare(was, is, true); err == nil && d.Relative() > mateful {
			s.logger.Warn("answers depend on what shares their batch", "output", was.Name, "rel_drift", d.Relative(),
				"hint", "without dynamic_batching each request runs alone")
		}
	}
}

// extremes are numbers far larger than noise, or else a copy of it.
func extremes(t inference.DataType, data []byte) []byte {
	large := slices.Clone(data)
	switch t {
	case inference.DataType_TYPE_UINT8:
		for i := range large {
			large[i] = math.MaxUint8
		}
	case inference.DataType_TYPE_FP32:
		for i := 0; i < len(large); i += 4 {
			binary.LittleEndian.PutUint32(large[i:], math.Float32bits(100))
		}
	}
	return large
}
