package stream

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
)

// Codes of JetStream's errors beside the client's own list.
const (
	codeAccountExceeded       = 10002
	codeInsufficientResources = 10023
	codeMemoryExceeded        = 10028
	codeStorageExceeded       = 10047
	codeStoreFailed           = 10077
	codeStreamMaxBytes        = 10122
)

// storeTooLarge begins what the server says with codeStoreFailed of a message that
// is larger than the stream takes at all; other texts are of streams that are full.
const storeTooLarge = "message too large"

// Failure gives an error of NATS its Kind: what is full is Busy, what is away or
// late is Unavailable, and what was written since is Conflict. A context that its
// owner has ended is left as it is.
func Failure(err error) error {
	var known *failure.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	var api *jetstream.APIError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &api):
		return ofAPI(err, api)
	case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, jetstream.ErrMaxBytesExceeded):
		return failure.Wrap(err, failure.TooLarge, "a message is larger than NATS takes")
	case gone(err):
		return failure.Wrap(err, failure.NotFound, "it is not there")
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return failure.Wrap(err, failure.Conflict, "it was written since")
	case errors.Is(err, jetstream.ErrTooManyStalledMsgs):
		return failure.Wrap(err, failure.Busy, "NATS is slower than what it is sent")
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrPermissionViolation):
		return failure.Wrap(err, failure.Unavailable, "NATS does not let this user in: --nats-credentials are wrong or lack a permission")
	default:
		return failure.Wrap(err, failure.Unavailable, "the job store does not answer")
	}
}

// gone tells whether what was asked for does not exist.
func gone(err error) bool {
	for _, absent := range []error{
		jetstream.ErrKeyNotFound, jetstream.ErrKeyDeleted, jetstream.ErrObjectNotFound, jetstream.ErrMsgNotFound,
		jetstream.ErrBucketNotFound, jetstream.ErrConsumerDeleted,
	} {
		if errors.Is(err, absent) {
			return true
		}
	}
	return false
}

func ofAPI(err error, api *jetstream.APIError) error {
	switch api.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return failure.Wrap(err, failure.Conflict, "it was written since")
	case jetstream.JSErrCodeStreamMessageExceedsMaximum:
		return failure.Wrap(err, failure.TooLarge, "a message is larger than NATS takes")
	case codeStoreFailed:
		if strings.HasPrefix(api.Description, storeTooLarge) {
			return failure.Wrap(err, failure.TooLarge, "a message is larger than NATS takes")
		}
		return failure.Wrap(err, failure.Busy, "the job store is full")
	case codeAccountExceeded, codeInsufficientResources, codeMemoryExceeded, codeStorageExceeded, codeStreamMaxBytes:
		return failure.Wrap(err, failure.Busy, "the job store is full")
	case jetstream.JSErrCodeMessageNotFound, jetstream.JSErrCodeStreamNotFound, jetstream.JSErrCodeConsumerNotFound, jetstream.JSErrCodeConsumerDoesNotExist:
		return failure.Wrap(err, failure.NotFound, "it is not there")
	case jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return failure.Wrap(err, failure.Unavailable, "NATS stores nothing: JetStream is off")
	default:
		return failure.Wrap(err, failure.Unavailable, "NATS refuses what it was asked for: %s", api.Description)
	}
}
