package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"triptych/gateway/classes"
	"triptych/gateway/rest"
	"triptych/gateway/web"
	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/oip"
)

// line is what became of one item.
type line struct {
	Cursor      string               `json:"cursor"`
	Item        uint32               `json:"item"`
	Name        string               `json:"name,omitempty"`
	State       string               `json:"state"`
	Predictions []classes.Prediction `json:"predictions,omitempty"`
	Outputs     []json.RawMessage    `json:"outputs,omitempty"`
	Error       *errorDocument       `json:"error,omitempty"`
	Step        string               `json:"step,omitempty"`
	Timings     map[string]float64   `json:"timings_ms,omitempty"`
	TraceID     string               `json:"trace_id,omitempty"`
	Attempts    uint32               `json:"attempts"`
}

type errorDocument struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// end is the last line of results that are complete.
type end struct {
	Cursor string `json:"cursor"`
	End    string `json:"end"`
}

func cursorOf(sequence uint64) string { return strconv.FormatUint(sequence, 10) }

func errorOf(e *pb.Error) *errorDocument {
	if e == nil {
		return nil
	}
	return &errorDocument{e.GetKind(), e.GetMessage()}
}

// shown is an outcome as results tell it: one without its letter is dead all the same.
func shown(o pb.Outcome) pb.Outcome {
	if o == pb.Outcome_OUTCOME_PURGED {
		return pb.Outcome_OUTCOME_DEAD
	}
	return o
}

// lineOf shows a verdict. An answer that lies in the object store is read.
func (a *API) lineOf(ctx context.Context, v *pb.Verdict, sequence uint64) (*line, error) {
	l := &line{
		Cursor: cursorOf(sequence), Item: v.GetItem(), Name: v.GetName(), State: jobs.OutcomeName(shown(v.GetOutcome())),
		Error: errorOf(v.GetError()), Step: v.GetStep(), Timings: timingsOf(v.GetTimes()), TraceID: v.GetTraceId(), Attempts: v.GetAttempts(),
	}
	resp := v.GetResponse()
	if v.GetResponseBlob() != nil {
		data, err := a.store.Connection().GetBlob(ctx, v.GetResponseBlob(), 0)
		if err != nil {
			return nil, err
		}
		resp = &inference.ModelInferResponse{}
		if err := proto.Unmarshal(data, resp); err != nil {
			return nil, failure.Wrap(err, failure.Internal, "the answer of item %d can't be read", v.GetItem())
		}
	}
	if resp == nil {
		return l, nil
	}
	if found, err := classes.Predictions(resp); err == nil {
		l.Predictions = found
		return l, nil
	}
	for i, out := range resp.GetOutputs() {
		if i < len(resp.GetRawOutputContents()) {
			l.Outputs = append(l.Outputs, tensor(out, resp.GetRawOutputContents()[i]))
		}
	}
	return l, nil
}

// tensor is an output in JSON. What JSON can't hold, such as NaN, is the tensor's raw
// bytes in base64.
func tensor(out *inference.ModelInferResponse_InferOutputTensor, data []byte) json.RawMessage {
	if text, err := rest.AppendTensor(nil, out, data); err == nil {
		return text
	}
	raw := &inference.ModelInferResponse_InferOutputTensor{
		Name: out.GetName(), Datatype: oip.Bytes, Shape: []int64{1}, Parameters: oip.Parameters{"datatype": oip.String(out.GetDatatype()), "shape": oip.String(oip.FormatShape(out.GetShape()))},
	}
	text, err := rest.AppendTensor(nil, raw, oip.JoinStrings(base64.StdEncoding.EncodeToString(data)))
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// timingsOf is where an item's time went: waiting between its steps, in the queues of
// models, and computing; their total; and what each model took. Of steps that ran side
// by side both count.
func timingsOf(times []*pb.StepTime) map[string]float64 {
	if len(times) == 0 {
		return nil
	}
	sums := map[string]int64{"waited": 0, "queue": 0, "compute": 0}
	for _, t := range times {
		waited, queue, compute := t.GetWaitedUs(), t.GetQueueUs(), t.GetComputeUs()
		for name, us := range map[string]int64{"waited": waited, "queue": queue, "compute": compute, "total": waited + queue + compute, "step " + t.GetModel(): queue + compute} {
			sums[name] += us
		}
	}
	timings := make(map[string]float64, len(sums))
	for name, us := range sums {
		timings[name] = web.Milliseconds(time.Duration(us) * time.Microsecond)
	}
	return timings
}
