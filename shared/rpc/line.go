package rpc

import (
	"context"

	"google.golang.org/grpc/stats"

	"triptych/shared/capacity"
)

// lines gives each connection of a server a line for what is told of models.
type lines struct{ stats.Handler }

type lineKey struct{}

// TagConn implements stats.Handler.
func (l lines) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	return context.WithValue(l.Handler.TagConn(ctx, info), lineKey{}, capacity.NewLine())
}

// listen makes the context in which a call is told what its model can take.
func listen(ctx context.Context) *capacity.Told {
	line, _ := ctx.Value(lineKey{}).(*capacity.Line)
	return capacity.Listen(ctx, line)
}
