package modelserver

import (
	"bytes"
	"container/list"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
)

// DefaultResponseCacheBytes bounds the answers that a service keeps.
const DefaultResponseCacheBytes = 64 << 20

// What an answer takes beside its encoded size: its place in the list and in a
// map, and the structs of the message.
const (
	bytesPerAnswer = 512
	bytesPerOutput = 256
)

// responseStore keeps the answers of all versions of a service within one bound.
// What was not asked for longest goes first. Safe for concurrent use.
type responseStore struct {
	keys *keyMaker

	mu    sync.Mutex // also guards the maps of every responseCache
	limit int64
	size  int64
	order *list.List // of *keptResponse, the last used first
}

// keptResponse is an answer in memory of its own, which nobody changes.
type keptResponse struct {
	owner    *responseCache
	key      responseKey
	response *inference.ModelInferResponse
	size     int64
}

func newResponseStore(limit int64) (*responseStore, error) {
	keys, err := newKeyMaker()
	if err != nil {
		return nil, err
	}
	return &responseStore{keys: keys, limit: limit, order: list.New()}, nil
}

// bound sets the limit; what is too much goes.
func (s *responseStore) bound(limit int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	s.makeRoom(0)
}

// room tells whether an answer of that size may be kept at all.
func (s *responseStore) room(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return size <= s.limit
}

// The following are called with the lock held.

func (s *responseStore) get(owner *responseCache, key responseKey) *inference.ModelInferResponse {
	place := owner.kept[key]
	if place == nil {
		return nil
	}
	s.order.MoveToFront(place)
	return place.Value.(*keptResponse).response //nolint:forcetypeassert // nothing else is put there
}

func (s *responseStore) put(k *keptResponse) {
	if place := k.owner.kept[k.key]; place != nil {
		s.remove(place)
	}
	if k.size > s.limit {
		return
	}
	s.makeRoom(k.size)
	k.owner.kept[k.key] = s.order.PushFront(k)
	k.owner.size += k.size
	s.size += k.size
}

func (s *responseStore) makeRoom(size int64) {
	for s.size+size > s.limit && s.order.Len() > 0 {
		s.remove(s.order.Back()).evictions++
	}
}

// remove forgets an answer and gives the one who kept it.
func (s *responseStore) remove(place *list.Element) *responseCache {
	k := s.order.Remove(place).(*keptResponse) //nolint:forcetypeassert // nothing else is put there
	delete(k.owner.kept, k.key)
	k.owner.size -= k.size
	s.size -= k.size
	return k.owner
}

// sizeOf is what an answer will take once it is kept.
func sizeOf(resp *inference.ModelInferResponse) int64 {
	return int64(proto.Size(resp)) + bytesPerAnswer + bytesPerOutput*int64(len(resp.GetOutputs()))
}

// share is a message of its own around the same tensors: whoever gets it may
// rename and arrange it, but not write into a tensor's bytes.
func share(resp *inference.ModelInferResponse) *inference.ModelInferResponse {
	own := &inference.ModelInferResponse{
		ModelName: resp.GetModelName(), ModelVersion: resp.GetModelVersion(), Id: resp.GetId(),
		Parameters:        maps.Clone(resp.GetParameters()),
		Outputs:           make([]*inference.ModelInferResponse_InferOutputTensor, len(resp.GetOutputs())),
		RawOutputContents: slices.Clone(resp.GetRawOutputContents()),
	}
	for i, data := range own.RawOutputContents {
		own.RawOutputContents[i] = slices.Clip(data) // to append writes into no one's
	}
	for i, out := range resp.GetOutputs() {
		own.Outputs[i] = &inference.ModelInferResponse_InferOutputTensor{
			Name: out.GetName(), Datatype: out.GetDatatype(), Shape: slices.Clone(out.GetShape()),
			Parameters: maps.Clone(out.GetParameters()), Contents: out.GetContents(),
		}
	}
	return own
}

// detach gives an answer bytes of its own. A model's may be a slice of a whole
// batch's, which would all stay in memory with it.
func detach(resp *inference.ModelInferResponse) *inference.ModelInferResponse {
	own := share(resp)
	for i, data := range own.GetRawOutputContents() {
		own.RawOutputContents[i] = slices.Clip(bytes.Clone(data))
	}
	return own
}
