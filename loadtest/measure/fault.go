package measure

import (
	"errors"
	"strings"
	"unicode"
)

// The kinds of errors that are not a server's own words.
const (
	// Timeout is no answer within the time that one request has.
	Timeout = "timeout"
	// Overrun is a request that an open loop could not send when it was due.
	Overrun = "overrun"
	// WrongAnswer is an answer with other labels than expected.
	WrongAnswer = "wrong answer"
	// BadAnswer is an answer that can't be read.
	BadAnswer = "bad answer"
	// Connection is a request that reached no server, or whose answer broke off.
	Connection = "connection"
	// Other is an error that nobody has named, and what comes after too many
	// kinds.
	Other = "other"
)

// maxMessage bounds the text that is kept of an error.
const maxMessage = 200

// Fault is an error that knows its kind, such as "HTTP 429 BUSY".
type Fault struct {
	Kind    string
	Message string
	// Unreached is set where no server had the request: there was no connection.
	Unreached bool
	// Permanent is set where a server refused and no later try or other load will
	// change that, as for a model that it does not have.
	Permanent bool
}

// Error is the kind, then the message, as a terminal can show them.
func (f *Fault) Error() string {
	if f.Message == "" {
		return printable(f.Kind)
	}
	return printable(f.Kind) + ": " + printable(f.Message)
}

// FaultOf finds the Fault in err, or makes one of the kind Other.
func FaultOf(err error) Fault {
	var f *Fault
	if errors.As(err, &f) {
		return *f
	}
	return Fault{Kind: Other, Message: err.Error()}
}

// printable is text from a server that can be shown on a terminal, cut to a
// length that can be read.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxMessage {
		return string(runes[:maxMessage]) + "..."
	}
	return text
}
