package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"triptych/cli/client"
	"triptych/cli/progress"
	"triptych/cli/style"
)

// jobParts are the items that are decided, by what became of them.
func jobParts(job client.Job) []progress.Part {
	c := job.Counts
	return []progress.Part{
		{N: int64(c.Succeeded), Name: "succeeded", Color: style.Green},
		{N: int64(c.Failed), Name: "failed", Color: style.Red},
		{N: int64(c.Dead), Name: "dead", Color: style.Magenta},
		{N: int64(c.Cancelled), Name: "cancelled", Color: style.Yellow},
		{N: int64(c.Expired), Name: "expired", Color: style.Yellow},
	}
}

// jobState is a job as a bar shows it.
func jobState(job client.Job) progress.State {
	return progress.State{Total: int64(job.Items), Parts: jobParts(job), Details: pace(job)}
}

// pace is how fast a job goes and how long that will take. The end is computed here:
// the gateway's clock may not be that of this machine.
func pace(job client.Job) []string {
	var all []string
	if job.State == "cancelling" {
		all = append(all, "cancelling")
	}
	if job.Over() || job.Rate <= 0 {
		return all
	}
	all = append(all, fmt.Sprintf("%.1f/s", job.Rate))
	if left := progress.Left(int64(job.Done()), int64(job.Counts.Pending), job.Rate); left != "" {
		all = append(all, left)
	}
	return all
}

// writeJob writes all that is known of a job.
func writeJob(w io.Writer, job client.Job) error {
	items := []string{strconv.Itoa(job.Items)}
	for _, part := range jobParts(job) {
		if part.N > 0 {
			items = append(items, fmt.Sprintf("%d %s", part.N, part.Name))
		}
	}
	if job.Counts.Pending > 0 {
		items = append(items, fmt.Sprintf("%d pending", job.Counts.Pending))
	}
	for _, line := range [][2]string{
		{"job", job.ID},
		{"name", job.Name},
		{"model", job.Model},
		{"state", job.State},
		{"items", strings.Join(items, ", ")},
		{"pace", strings.Join(pace(job), ", ")},
		{"priority", strings.Trim(string(job.Priority), `"`)},
		{"created", when(job.Created)},
		{"deadline", when(job.Deadline)},
		{"ended", when(job.Ended)},
		{"callback", callbackText(job.Callback)},
		{"request", job.RequestID},
		{"trace", job.TraceID},
	} {
		if line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-9s %s\n", line[0], shown(line[1])); err != nil {
			return err
		}
	}
	return nil
}

func callbackText(c *client.Callback) string {
	switch {
	case c == nil:
		return ""
	case c.Delivered != "":
		return fmt.Sprintf("delivered %s, after %s", when(c.Delivered), tries(c.Attempts))
	case c.GivenUp:
		return fmt.Sprintf("given up after %s: %s", tries(c.Attempts), c.Error)
	case c.Error != "":
		return fmt.Sprintf("not yet, after %s: %s", tries(c.Attempts), c.Error)
	default:
		return "not yet"
	}
}

// counted is a number of things: "1 item", "2 items".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func tries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

// when is a time in the user's zone; what is none is shown as it is.
func when(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// shown is text that somebody else chose, without what could move the cursor of a
// terminal or colour it.
func shown(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
