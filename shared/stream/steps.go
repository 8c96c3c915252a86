package stream

import (
	"fmt"
	"strconv"
	"strings"
)

// StepSubjects are the subjects of the tasks of one step of all items of a job, of
// whatever level.
func StepSubjects(model, job string, step uint32) string {
	return fmt.Sprintf("triptych.step.%s.*.%s.*.%d", Token(model), job, step)
}

// Step is what the subject of a task says of it.
type Step struct {
	Level      int
	Job        string
	Item, Step uint32
}

// StepOf reads a subject that StepSubject has made.
func StepOf(subject string) (s Step, ok bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 7 || parts[0]+"."+parts[1] != "triptych.step" {
		return s, false
	}
	var numbers [3]uint32
	for i, part := range []string{parts[3], parts[5], parts[6]} {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return s, false
		}
		numbers[i] = uint32(n)
	}
	s = Step{Level: int(numbers[0]), Job: parts[4], Item: numbers[1], Step: numbers[2]}
	return s, s.Level >= 1 && s.Level <= Levels
}
