package cli

import (
	"context"
	"sync"
	"time"

	"triptych/cli/client"
	"triptych/cli/progress"
	"triptych/cli/style"
	"triptych/cli/upload"
	"triptych/shared/failure"
)

// send submits a body, again when that may help.
func (f *submitFlags) send(ctx context.Context, follower *follower, body *upload.Body) (client.Job, error) {
	var job client.Job
	draw := func() { follower.show(sending(body)) }
	err := animate(draw, func() error {
		return follower.patience().Try(ctx, func(ctx context.Context) error {
			var err error
			job, err = f.sendOnce(ctx, follower.client, body)
			return err
		})
	})
	follower.bar.Clear()
	if ctx.Err() != nil {
		return job, failure.New(failure.Cancelled, "the gateway had not answered yet; to be sure of the job, submit it again with --idempotency-key %s", f.key)
	}
	return job, err
}

func (f *submitFlags) sendOnce(ctx context.Context, c *client.Client, body *upload.Body) (client.Job, error) {
	r, err := body.Open()
	if err != nil {
		return client.Job{}, err
	}
	defer r.Close()
	return c.Submit(ctx, client.Submission{
		Settings: f.settings(), Key: f.key,
		ContentType: body.ContentType, Size: body.Size, Body: r,
	})
}

// sending is how far a body has come: in items where they are counted, else in bytes.
func sending(body *upload.Body) progress.State {
	items, bytes, took := body.Sent()
	rate := ""
	if seconds := took.Seconds(); seconds > 1 {
		rate = progress.Bytes(int64(float64(bytes)/seconds)) + "/s"
	}
	s := progress.State{Total: body.Items, Parts: []progress.Part{{N: items, Color: style.Cyan}}, Details: []string{"sent", progress.Bytes(bytes), rate}}
	if body.Size > 0 {
		s.Total, s.Parts[0].N = body.Size, bytes
	}
	if s.Total > 0 && s.Parts[0].N >= s.Total {
		s.Details[0] = "sent, the gateway stores them"
	}
	if rate == "" {
		s.Details = s.Details[:2]
	}
	return s
}

// frame is how often what moves is drawn.
const frame = 200 * time.Millisecond

// animate draws while do runs.
func animate(draw func(), do func() error) error {
	done := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		ticks := time.NewTicker(frame)
		defer ticks.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticks.C:
				draw()
			}
		}
	})
	err := do()
	close(done)
	drawing.Wait()
	return err
}
