package verify

import (
	"encoding/json"
	"os"

	"triptych/shared/failure"
)

// expectations is a file of right answers, such as testdata/expected.json.
type expectations struct {
	Images []struct {
		File string `json:"file"`
		// Top5 is by the version of the model.
		Top5 map[string][]struct {
			Label string `json:"label"`
		} `json:"top5"`
	} `json:"images"`
}

// ReadExpected gives the first label that a version of the model should give
// for each name. A name that the file does not have is an error: an image that
// nobody checks would pass for one that is right.
func ReadExpected(file, version string, names []string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "--expected: %s can't be read", file)
	}
	var e expectations
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "--expected: %s is not a file of expected answers", file)
	}
	labels := make(map[string]string, len(e.Images))
	for _, image := range e.Images {
		if top := image.Top5[version]; len(top) > 0 {
			labels[image.File] = top[0].Label
		}
	}
	want := make([]string, len(names))
	for i, name := range names {
		label, ok := labels[name]
		if !ok {
			return nil, failure.New(failure.Invalid, "--expected: %s has no answer of version %s for %s", file, version, name)
		}
		want[i] = label
	}
	return want, nil
}
