package feed

import "context"

// Lead feeds without a lease, as a leader does that has lost it and does not know.
func (f *Feeder) Lead(ctx context.Context, epoch uint32) { f.lead(ctx, epoch) }
