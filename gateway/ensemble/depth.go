package ensemble

import (
	"context"

	"triptych/shared/failure"
)

// maxDepth bounds ensembles inside ensembles. Two that name each other would
// otherwise call each other until the deadline.
const maxDepth = 8

type depthKey struct{}

func deeper(ctx context.Context) (context.Context, error) {
	depth, _ := ctx.Value(depthKey{}).(int)
	if depth == maxDepth {
		return nil, failure.New(failure.Internal, "ensembles call each other more than %d deep", maxDepth)
	}
	return context.WithValue(ctx, depthKey{}, depth+1), nil
}
