package intake

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
	"triptych/shared/stream"
)

const (
	defaultModel = "classify"
	maxTopK      = 1000
	// maxSetting bounds a setting's text.
	maxSetting = 2048
)

// names are the settings that a job can have.
var names = []string{"callback_url", "deadline", "model", "name", "priority", "top_k", "version"}

// settings are what a job is to be done with, as the caller wrote it.
type settings struct {
	text map[string]string
	// parameters are those of every request beside top_k.
	parameters oip.Parameters
	// urgency is the priority of the request itself.
	urgency uint64
}

// take takes the settings of a request that do not stand in its body.
func (s *settings) take(ask Ask) error {
	s.text, s.urgency = map[string]string{}, ask.Priority
	for name, values := range ask.Settings {
		for _, value := range values {
			if err := s.set(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// set takes one setting. It may be said twice, but not in two ways.
func (s *settings) set(name, value string) error {
	if !slices.Contains(names, name) {
		return failure.New(failure.Invalid, "unknown setting %s, a job has %s", failure.Quote(name), strings.Join(names, ", "))
	}
	if len(value) > maxSetting {
		return failure.New(failure.Invalid, "%s has more than %d bytes", name, maxSetting)
	}
	if before, ok := s.text[name]; ok && before != value {
		return failure.New(failure.Invalid, "%s is given twice, as %s and as %s", name, failure.Quote(before), failure.Quote(value))
	}
	s.text[name] = strings.ToValidUTF8(value, "\uFFFD")
	return nil
}

func (s *settings) model() string { return cmp.Or(s.text["model"], defaultModel) }

// checked is what the texts mean.
type checked struct {
	priority uint32
	deadline time.Time
}

func (s *settings) check(in *Intake) (c checked, err error) {
	if c.priority, err = s.priority(); err != nil {
		return c, err
	}
	if c.deadline, err = s.deadline(in.now(), in.cfg); err != nil {
		return c, err
	}
	if _, err = s.topK(); err != nil {
		return c, err
	}
	if address := s.text["callback_url"]; address != "" {
		err = in.callbacks.Validate(address)
	}
	return c, err
}

// priorities are the words for 1, 2 and 3.
var priorities = []string{"high", "normal", "low"}

func (s *settings) priority() (uint32, error) {
	text := s.text["priority"]
	if text == "" {
		if s.urgency == 0 {
			return 0, nil
		}
		return uint32(stream.Level(s.urgency)), nil
	}
	if i := slices.Index(priorities, text); i >= 0 {
		return uint32(i + 1), nil
	}
	if n, err := strconv.ParseUint(text, 10, 32); err == nil && n >= 1 && n <= stream.Levels {
		return uint32(n), nil
	}
	return 0, failure.New(failure.Invalid, "priority is %s, must be 1 to %d, or %s", failure.Quote(text), stream.Levels, strings.Join(priorities, ", "))
}

func (s *settings) deadline(now time.Time, cfg Config) (time.Time, error) {
	text := s.text["deadline"]
	if text == "" {
		return now.Add(cfg.Deadline), nil
	}
	wrong := func(why string) (time.Time, error) {
		return time.Time{}, failure.New(failure.Invalid, "deadline is %s, %s", failure.Quote(text), why)
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d, err := time.ParseDuration(text)
		if err != nil {
			return wrong("must be a duration such as 90m, or a time as in RFC 3339")
		}
		at = now.Add(d)
	}
	if !at.After(now) {
		return wrong("which has passed")
	}
	if at.Sub(now) > cfg.MaxDeadline {
		return wrong("must be within " + cfg.MaxDeadline.String())
	}
	return at, nil
}

// topK is the parameter that classifiers know; nil when it was not said.
func (s *settings) topK() (*inference.InferParameter, error) {
	text := s.text["top_k"]
	if text == "" {
		return nil, nil
	}
	k, err := strconv.ParseInt(text, 10, 64)
	if err != nil || k < 1 || k > maxTopK {
		return nil, failure.New(failure.Invalid, "top_k must be a whole number from 1 to %d", maxTopK)
	}
	return oip.Int64(k), nil
}
