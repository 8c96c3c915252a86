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

// StepItem reads the item out of the subject of a task.
func StepItem(subject string) (item uint32, ok bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 7 {
		return 0, false
	}
	n, err := strconv.ParseUint(parts[5], 10, 32)
	return uint32(n), err == nil
}
