package verify_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/verify"
	"triptych/shared/failure"
	"triptych/shared/testkit"
)

// answers is a target that gives the next answer each time.
type answers [][]string

func (a *answers) Do(context.Context, int) (measure.Answer, error) {
	if len(*a) == 0 {
		return measure.Answer{}, errors.New("no answer")
	}
	labels := (*a)[0]
	*a = (*a)[1:]
	return measure.Answer{Labels: labels}, nil
}

// kinds asks for each item and gives what became of it.
func kinds(target load.Target, items ...int) []string {
	var kinds []string
	for _, n := range items {
		_, err := target.Do(context.Background(), n)
		if err == nil {
			kinds = append(kinds, "good")
			continue
		}
		kinds = append(kinds, measure.FaultOf(err).Kind)
	}
	return kinds
}

func TestFirstLabel(t *testing.T) {
	source := &answers{{"cat", "dog"}, {"dog", "cat"}, {"dog"}, {}}
	target := verify.With(source, verify.First([]string{"a.jpg", "b.jpg"}, []string{"cat", "dog"}))
	got := kinds(target, 0, 0, 1, 1, 0)
	want := []string{"good", measure.WrongAnswer, "good", measure.WrongAnswer, measure.Other}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConsistent(t *testing.T) {
	source := &answers{{"cat", "dog"}, {"dog", "cat"}, {"cat", "dog"}, {"cat", "Dog"}, {"cat"}, {"dog", "cat"}}
	target := verify.With(source, verify.Same([]string{"a.jpg", "b.jpg"}))
	got := kinds(target, 0, 1, 0, 0, 0, 1, 1)
	want := []string{"good", "good", "good", measure.WrongAnswer, measure.WrongAnswer, "good", measure.Other}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWrongAnswerNamesTheImage(t *testing.T) {
	target := verify.With(&answers{{"dog"}}, verify.First([]string{"a.jpg"}, []string{"cat"}))
	_, err := target.Do(t.Context(), 0)
	if want := `wrong answer: a.jpg got ["dog"], want ["cat"]`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestReadExpected(t *testing.T) {
	file := testkit.Path(t, "testdata", "expected.json")
	got, err := verify.ReadExpected(file, "1", []string{"cat.gif", "coffee.jpg"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Egyptian cat", "espresso"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadExpectedRefuses(t *testing.T) {
	expected := testkit.Path(t, "testdata", "expected.json")
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, file, version, image, want string }{
		{"absent", "nothing.json", "1", "cat.gif", "can't be read"},
		{"broken", broken, "1", "cat.gif", "is not a file of expected answers"},
		{"version", expected, "7", "cat.gif", "no answer of version 7 for cat.gif"},
		{"image", expected, "1", "horse.jpg", "no answer of version 1 for horse.jpg"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := verify.ReadExpected(tt.file, tt.version, []string{tt.image})
			if failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), tt.want) || !strings.Contains(failure.Message(err), "--expected") {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}
