package classify

import (
	"fmt"
	"time"

	"triptych/gateway/web"
	"triptych/shared/pipeline"
)

// timings is where the time of a request went, in milliseconds. Total is what
// the caller waited for, the reading of the body included. The stages are those
// of one image: for a form, the mean of its images that were answered.
type timings struct {
	Preprocess  float64 `json:"preprocess"`
	Queue       float64 `json:"queue"`
	Predict     float64 `json:"predict"`
	Postprocess float64 `json:"postprocess"`
	Total       float64 `json:"total"`
}

// The backends whose steps are not the prediction.
const (
	preprocessBackend  = "image"
	postprocessBackend = "classification"
)

func timingsOf(results []*result, total time.Duration) timings {
	var preprocess, queue, predict, postprocess, answered time.Duration
	for _, r := range results {
		if r.err != nil {
			continue
		}
		answered++
		for _, s := range r.steps {
			switch s.Backend {
			case preprocessBackend:
				preprocess += spent(s)
			case postprocessBackend:
				postprocess += spent(s)
			default:
				queue += s.Queue
				predict += s.Compute
			}
		}
	}
	answered = max(answered, 1)
	return timings{
		web.Milliseconds(preprocess / answered), web.Milliseconds(queue / answered), web.Milliseconds(predict / answered),
		web.Milliseconds(postprocess / answered), web.Milliseconds(total),
	}
}

// spent is what a step took in its service, its wait there included.
func spent(s pipeline.StepTiming) time.Duration { return s.Queue + s.Compute }

// header is the timings as a Server-Timing header.
func (t timings) header() string {
	return fmt.Sprintf("pre;dur=%.3f, queue;dur=%.3f, predict;dur=%.3f, post;dur=%.3f, total;dur=%.3f",
		t.Preprocess, t.Queue, t.Predict, t.Postprocess, t.Total)
}
