package admission

import (
	"context"
	"sync"

	"triptych/proto/inference"
)

// streamBytes bounds what one stream holds, in requests that are not answered and
// in answers that wait for their turn. Beyond it the next request is not read,
// and the caller feels the flow control; so it may be passed by one request and by
// the answers to those that are held.
const streamBytes = 32 << 20

// boundedStream keeps count of what a stream holds. Answers are sent in the order
// of the requests.
type boundedStream struct {
	inference.GRPCInferenceService_ModelStreamInferServer

	mu      sync.Mutex // guards what follows
	held    int64
	pending []int64       // bytes of the requests that are not answered, oldest first
	freed   chan struct{} // tells the one who receives that there is less held
	broken  bool          // nothing can be sent any more, so nothing will be freed
}

func newBoundedStream(stream inference.GRPCInferenceService_ModelStreamInferServer) *boundedStream {
	return &boundedStream{GRPCInferenceService_ModelStreamInferServer: stream, freed: make(chan struct{}, 1)}
}

// Recv implements the stream. It waits until there is room.
func (s *boundedStream) Recv() (*inference.ModelInferRequest, error) {
	if err := s.wait(s.Context()); err != nil {
		return nil, err
	}
	req, err := s.GRPCInferenceService_ModelStreamInferServer.Recv()
	if err != nil {
		return nil, err
	}
	bytes := requestBytes(req)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held += bytes
	s.pending = append(s.pending, bytes)
	return req, nil
}

func (s *boundedStream) wait(ctx context.Context) error {
	for s.full() {
		select {
		case <-s.freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (s *boundedStream) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held >= streamBytes && !s.broken
}

// hold counts an answer that waits for its turn.
func (s *boundedStream) hold(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held += bytes
}

// Send implements the stream.
func (s *boundedStream) Send(answer *inference.ModelStreamInferResponse) error {
	err := s.GRPCInferenceService_ModelStreamInferServer.Send(answer)
	s.answered(responseBytes(answer.GetInferResponse()), err != nil)
	return err
}

func (s *boundedStream) answered(bytes int64, broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = s.broken || broken
	s.held -= bytes + s.pending[0]
	s.pending = s.pending[1:]
	select {
	case s.freed <- struct{}{}:
	default:
	}
}
