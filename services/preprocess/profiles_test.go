package preprocess_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"triptych/services/preprocess"
	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
)

// PRE-09: profiles are ignored unless the model asks for sRGB.
func TestColorProfilesAreASwitch(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "profiles", "adobe.png"))
	if err != nil {
		t.Fatal(err)
	}
	tel, _ := recording()
	backend, err := preprocess.NewBackend(preprocess.DefaultConfig(), tel)
	if err != nil {
		t.Fatal(err)
	}
	tensor := func(word string) ([]byte, error) {
		cfg := sample(t)
		if word != "" {
			set("color_profile", word)(cfg)
		}
		m, err := backend.Load(t.Context(), modelserver.Spec{Config: cfg})
		if err != nil {
			return nil, err
		}
		defer m.Close()
		resp, err := m.Infer(t.Context(), request(data))
		if err != nil {
			return nil, err
		}
		return resp.GetRawOutputContents()[0], nil
	}
	plain, err := tensor("")
	if err != nil {
		t.Fatal(err)
	}
	if ignored, err := tensor("ignore"); err != nil || !bytes.Equal(ignored, plain) {
		t.Errorf("ignoring is not the default: %v", err)
	}
	if _, err := tensor("p3"); failure.KindOf(err) != failure.Invalid {
		t.Errorf("got %v for an unknown word, want invalid", err)
	}
	converted, err := tensor("srgb")
	if decode.ColorProfiles && (err != nil || bytes.Equal(converted, plain)) {
		t.Errorf("nothing was converted: %v", err)
	}
	if !decode.ColorProfiles && failure.KindOf(err) != failure.Invalid {
		t.Errorf("got %v from a build that can't convert, want invalid", err)
	}
}
