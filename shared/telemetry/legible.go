package telemetry

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// legible is a span whose texts are UTF-8. Callers choose some of them, such as
// a path or a user agent, and OTLP can't carry one that is not UTF-8: it would
// cost the whole batch, which has the spans of others too.
type legible struct {
	sdktrace.ReadOnlySpan
}

// makeLegible leaves spans that are legible as they are: nearly all of them.
func makeLegible(spans []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	all := spans
	for i, s := range spans {
		if isLegible(s) {
			continue
		}
		if &all[0] == &spans[0] {
			all = slices.Clone(spans)
		}
		all[i] = legible{s}
	}
	return all
}

func isLegible(s sdktrace.ReadOnlySpan) bool {
	if !utf8.ValidString(s.Name()) || !utf8.ValidString(s.Status().Description) || !areLegible(s.Attributes()) {
		return false
	}
	for _, e := range s.Events() {
		if !utf8.ValidString(e.Name) || !areLegible(e.Attributes) {
			return false
		}
	}
	return true
}

func areLegible(attributes []attribute.KeyValue) bool {
	for _, a := range attributes {
		switch a.Value.Type() {
		case attribute.STRING:
			if !utf8.ValidString(a.Value.AsString()) {
				return false
			}
		case attribute.STRINGSLICE:
			if slices.ContainsFunc(a.Value.AsStringSlice(), func(text string) bool { return !utf8.ValidString(text) }) {
				return false
			}
		}
	}
	return true
}

// Name implements sdktrace.ReadOnlySpan.
func (s legible) Name() string { return toUTF8(s.ReadOnlySpan.Name()) }

// Attributes implements sdktrace.ReadOnlySpan.
func (s legible) Attributes() []attribute.KeyValue {
	return legibleAttributes(s.ReadOnlySpan.Attributes())
}

// Status implements sdktrace.ReadOnlySpan.
func (s legible) Status() sdktrace.Status {
	status := s.ReadOnlySpan.Status()
	status.Description = toUTF8(status.Description)
	return status
}

// Events implements sdktrace.ReadOnlySpan. An error that was recorded is one.
func (s legible) Events() []sdktrace.Event {
	events := slices.Clone(s.ReadOnlySpan.Events())
	for i, e := range events {
		events[i].Name = toUTF8(e.Name)
		events[i].Attributes = legibleAttributes(e.Attributes)
	}
	return events
}

// legibleAttributes copies what it is given: the span's own must not change.
func legibleAttributes(attributes []attribute.KeyValue) []attribute.KeyValue {
	all := slices.Clone(attributes)
	for i, a := range all {
		switch a.Value.Type() {
		case attribute.STRING:
			all[i].Value = attribute.StringValue(toUTF8(a.Value.AsString()))
		case attribute.STRINGSLICE:
			texts := a.Value.AsStringSlice()
			for j, text := range texts {
				texts[j] = toUTF8(text)
			}
			all[i].Value = attribute.StringSliceValue(texts)
		}
	}
	return all
}

// toUTF8 gives a text that is UTF-8 back as it is.
func toUTF8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
