package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"triptych/shared/call"
	"triptych/shared/failure"
)

// source is the file that is read, and what is wrong with it.
type source struct {
	name   string
	wrongs []wrong
}

type wrong struct {
	line, column int
	text         string
}

// say notes what is wrong at a place.
func (s *source) say(at *yaml.Node, format string, args ...any) {
	s.wrongs = append(s.wrongs, wrong{at.Line, at.Column, fmt.Sprintf(format, args...)})
}

// err is all that is wrong, a line each, or nil.
func (s *source) err() error {
	if len(s.wrongs) == 0 {
		return nil
	}
	slices.SortStableFunc(s.wrongs, func(a, b wrong) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	lines := make([]string, len(s.wrongs))
	for i, w := range s.wrongs {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", s.name, w.line, w.column, w.text)
	}
	return failure.New(failure.Invalid, "%s", strings.Join(lines, "\n"))
}

// object is a mapping of which each key is asked for by name, so that those nobody
// asks for are found.
type object struct {
	*source
	at     *yaml.Node
	fields map[string]*yaml.Node
	keys   []*yaml.Node
	known  []string
}

// object reads a mapping; of what is none, it has no fields.
func (s *source) object(node *yaml.Node, what string) *object {
	node = resolve(node)
	o := &object{source: s, at: node, fields: map[string]*yaml.Node{}}
	if node.Kind != yaml.MappingNode {
		s.say(node, "%s must be a mapping of keys to values", what)
		return o
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if _, twice := o.fields[key.Value]; twice {
			s.say(key, "%s is given twice", strconv.Quote(key.Value))
		}
		o.keys, o.fields[key.Value] = append(o.keys, key), resolve(node.Content[i+1])
	}
	return o
}

// resolve follows an alias to what it stands for.
func resolve(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// field is the value of a key; false when it is not given.
func (o *object) field(key string) (*yaml.Node, bool) {
	o.known = append(o.known, key)
	node, ok := o.fields[key]
	return node, ok
}

// has tells whether a key is given.
func (o *object) has(key string) bool { return o.fields[key] != nil }

// place is where a key's value stands, or else the object.
func (o *object) place(key string) *yaml.Node {
	if node, ok := o.fields[key]; ok {
		return node
	}
	return o.at
}

// done says which keys nobody knows.
func (o *object) done() {
	for _, key := range o.keys {
		if !slices.Contains(o.known, key.Value) {
			o.say(key, "unknown key %q; known here: %s", key.Value, strings.Join(o.known, ", "))
		}
	}
}

func (o *object) text(key string, to *string) {
	if node, ok := o.scalar(key); ok {
		*to = node.Value
	}
}

// tenant reads the name of one.
func (o *object) tenant(key string, to *string) {
	o.text(key, to)
	if *to != "" && !call.ValidTenant(*to) {
		o.say(o.place(key), "%s is %q, %s", key, *to, call.TenantRule)
	}
}

func (o *object) scalar(key string) (*yaml.Node, bool) {
	node, ok := o.field(key)
	if ok && node.Kind != yaml.ScalarNode {
		o.say(node, "%s must be a single value", key)
		return nil, false
	}
	return node, ok
}

func (o *object) boolean(key string, to *bool) {
	if node, ok := o.scalar(key); ok {
		v, err := strconv.ParseBool(node.Value)
		if err != nil {
			o.say(node, "%s must be true or false", key)
		}
		*to = v
	}
}

func (o *object) number(key string, to *float64, least, most float64) {
	if node, ok := o.scalar(key); ok {
		*to = o.parse(node, key, least, most)
	}
}

// parse reads a number from a scalar.
func (s *source) parse(node *yaml.Node, key string, least, most float64) float64 {
	v, err := strconv.ParseFloat(node.Value, 64)
	if err != nil || !(v >= least && v <= most) {
		s.say(node, "%s is %q, must be a number from %g to %g", key, node.Value, least, most)
	}
	return v
}

// whole reads a whole number.
func whole[T ~int | ~int64 | ~uint64](o *object, key string, to *T, least, most int64) {
	node, ok := o.scalar(key)
	if !ok {
		return
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(node.Value, "_", ""), 10, 64)
	if err != nil || v < least || v > most {
		o.say(node, "%s is %q, must be a whole number from %d to %d", key, node.Value, least, most)
		return
	}
	*to = T(v)
}

// duration reads a time such as 90s.
func (o *object) duration(key string, to *time.Duration) {
	if node, ok := o.scalar(key); ok {
		*to = o.time(node, key)
	}
}

// time reads a time of 0 or more; -1 for what is none.
func (s *source) time(node *yaml.Node, key string) time.Duration {
	d, err := time.ParseDuration(node.Value)
	if err != nil || d < 0 {
		s.say(node, "%s is %q, must be a time such as 500ms or 2m", key, node.Value)
		return -1
	}
	return d
}

// each gives the elements of a list. What is no list is a list of one.
func (o *object) each(key string, read func(*yaml.Node)) {
	node, ok := o.field(key)
	switch {
	case !ok:
	case node.Kind != yaml.SequenceNode:
		read(node)
	default:
		for _, element := range node.Content {
			read(resolve(element))
		}
	}
}

// texts reads a list of texts.
func (o *object) texts(key string) (list []string) {
	o.each(key, func(node *yaml.Node) {
		if node.Kind != yaml.ScalarNode {
			o.say(node, "%s must be texts", key)
		}
		list = append(list, node.Value)
	})
	return list
}

// pairs reads a mapping of texts to texts.
func (o *object) pairs(key string) map[string]string {
	node, ok := o.field(key)
	if !ok {
		return nil
	}
	inner := o.source.object(node, key)
	pairs := map[string]string{}
	for name, value := range inner.fields {
		if value.Kind != yaml.ScalarNode {
			o.say(value, "%s must be a single value", name)
		}
		pairs[name] = value.Value
	}
	return pairs
}
