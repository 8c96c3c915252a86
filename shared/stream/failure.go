package stream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
)

// Codes of JetStream's errors for what is full, beside the client's own list.
const (
	codeInsufficientResources = 10023
	codeStorageExceeded       = 10047
	codeMemoryExceeded        = 10028
	codeStoreFailed           = 10077
)

// Failure gives an error of NATS its Kind: what is full is Busy, what is away or
// late is Unavailable, and what was written since is Conflict.
func Failure(err error) error {
	var known *failure.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return ofAPI(err, api)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, nats.ErrMaxPayload):
		return failure.Wrap(err, failure.TooLarge, "a message is larger than NATS takes")
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrObjectNotFound), errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrKeyDeleted):
		return failure.Wrap(err, failure.NotFound, "it is not there")
	default:
		return failure.Wrap(err, failure.Unavailable, "the job store does not answer")
	}
}

func ofAPI(err error, api *jetstream.APIError) error {
	switch api.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return failure.Wrap(err, failure.Conflict, "it was written since")
	case codeInsufficientResources, codeStorageExceeded, codeMemoryExceeded, codeStoreFailed:
		return failure.Wrap(err, failure.Busy, "the job store is full")
	case jetstream.JSErrCodeStreamMessageExceedsMaximum:
		return failure.Wrap(err, failure.TooLarge, "a message is larger than NATS takes")
	case jetstream.JSErrCodeMessageNotFound, jetstream.JSErrCodeStreamNotFound, jetstream.JSErrCodeConsumerNotFound:
		return failure.Wrap(err, failure.NotFound, "it is not there")
	default:
		return failure.Wrap(err, failure.Unavailable, "the job store does not take it")
	}
}
