package ledger

import (
	"encoding/binary"
	"fmt"
	"math"

	"triptych/cli/chaos/spots"
	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/oip"
)

// Item is one file of a job and what must become of it.
type Item struct {
	// Picture is the picture's number.
	Picture int
	// Padding is how many bytes more its file has.
	Padding int
	// File, if there is one, is sent instead, and Label is what it must be found to be.
	File  []byte
	Label string
	// Name is the file's name; made up when empty.
	Name string
	// Want is the outcome that the item must get; succeeded if it is zero.
	Want pb.Outcome
	// MayExpire says that its deadline may have passed instead.
	MayExpire bool
}

// Job is what is sent.
type Job struct {
	Model string
	Items []Item
	// Query is further settings, such as priority=1.
	Query string
	// Key is the Idempotency-Key; Deliver makes one up when it is empty.
	Key string
}

// Pictures are items of the pictures from first on.
func Pictures(first, count int) []Item {
	items := make([]Item, count)
	for i := range items {
		items[i].Picture = first + i
	}
	return items
}

// fits tells whether the item may get an outcome.
func (i Item) fits(outcome pb.Outcome) bool {
	return outcome == i.want() || i.MayExpire && outcome == pb.Outcome_OUTCOME_EXPIRED
}

func (i Item) want() pb.Outcome {
	if i.Want == pb.Outcome_OUTCOME_UNSPECIFIED {
		return pb.Outcome_OUTCOME_SUCCEEDED
	}
	return i.Want
}

func (i Item) file() ([]byte, error) {
	if i.File != nil {
		return i.File, nil
	}
	return spots.Picture(i.Picture, i.Padding)
}

// is tells whether an answer is this item's.
func (i Item) is(p Prediction) bool {
	if i.File != nil {
		return p.Label == i.Label
	}
	want := spots.Of(i.Picture)
	return int(p.Class) == want.Class && math.Abs(float64(p.Score-want.Score)) < 1e-3
}

// best reads the first answer out of a stored response.
func best(resp *inference.ModelInferResponse) (Prediction, error) {
	label, _ := oip.Output(resp, "LABEL")
	score, _ := oip.Output(resp, "SCORE")
	class, ok := oip.Output(resp, "CLASS")
	if !ok || len(score.Data) < 4 || len(class.Data) < 4 {
		return Prediction{}, fmt.Errorf("the response has no answer but %d outputs", len(resp.GetOutputs()))
	}
	count, err := oip.Elements(label.Shape)
	if err != nil {
		return Prediction{}, err
	}
	texts, err := oip.Strings(label.Data, count)
	if err != nil || len(texts) == 0 {
		return Prediction{}, fmt.Errorf("the response has no label: %w", err)
	}
	return Prediction{
		Label: string(texts[0]),
		Score: math.Float32frombits(binary.LittleEndian.Uint32(score.Data)),
		Class: int32(binary.LittleEndian.Uint32(class.Data)), //nolint:gosec // the bits of an INT32
	}, nil
}
