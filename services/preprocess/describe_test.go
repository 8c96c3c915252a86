package preprocess_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// Who has a tensor must be able to tell what its numbers are, whatever of that a
// preset or a default has said.
func TestPropertiesTellTheLayout(t *testing.T) {
	keras := float32s(t)
	keras.Parameters = map[string]*inference.ModelParameter{"preset": {StringValue: "keras_caffe"}}
	keras.Output[0].Dims = []int64{224, 224, 3}
	for name, tc := range map[string]struct {
		cfg  *inference.ModelConfig
		want map[string]string
	}{
		"bytes":  {sample(t), map[string]string{"resize": "shortest", "layout": "NHWC", "colors": "RGB"}},
		"floats": {float32s(t), map[string]string{"resize": "shortest", "layout": "NCHW", "colors": "RGB", "scale": "0.00392156862745098", "mean": "0.485,0.456,0.406", "std": "0.229,0.224,0.225"}},
		"preset": {keras, map[string]string{"resize": "exact", "layout": "NHWC", "colors": "BGR", "scale": "1", "mean": "103.939,116.779,123.68", "std": "1,1,1"}},
	} {
		t.Run(name, func(t *testing.T) {
			described, ok := load(t, tc.cfg, telemetry.Discard()).(modelserver.Describer)
			if !ok {
				t.Fatal("the model has no properties")
			}
			got := map[string]string{}
			for _, key := range []string{"resize", "layout", "colors", "scale", "mean", "std"} {
				if value, ok := described.Properties()[key]; ok {
					got[key] = value
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
