package target

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"triptych/loadtest/measure"
	"triptych/loadtest/sample"
	"triptych/shared/call"
)

// classify posts images to /v1/classify.
type classify struct {
	*client
	images []sample.Image
}

func newClassify(o Options, base *url.URL, images []sample.Image) *classify {
	u := base.JoinPath("v1", "classify")
	u.RawQuery = url.Values{"model": {o.Model}}.Encode()
	header := o.headers()
	header.Set("Content-Type", "application/octet-stream")
	if o.Priority > 0 {
		header.Set(call.PriorityHeader, strconv.FormatUint(o.Priority, 10))
	}
	return &classify{newClient(u, header, o.InFlight), images}
}

// Do posts image n.
func (c *classify) Do(ctx context.Context, n int) (measure.Answer, error) {
	return c.post(ctx, nil, c.images[n].Data, readClassify)
}

func readClassify(_ http.Header, body []byte) ([]string, error) {
	var answer struct {
		Results []struct {
			Predictions []struct {
				Label string `json:"label"`
			} `json:"predictions"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, bad("the answer is not JSON: " + err.Error())
	}
	if len(answer.Results) != 1 || len(answer.Results[0].Predictions) == 0 {
		return nil, bad("the answer has no predictions for the one image")
	}
	labels := make([]string, len(answer.Results[0].Predictions))
	for i, p := range answer.Results[0].Predictions {
		labels[i] = p.Label
	}
	return labels, nil
}
