package intake

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// maxJSON bounds a job that names objects.
const maxJSON = 64 << 20

// reference is an item that names an object.
type reference struct {
	Key  string `json:"key"`
	Name string `json:"name"`
}

// readKeys takes a JSON document: settings, and items that lie in the object store.
func readKeys(d *draft, body io.Reader) error {
	l := &limited{source: body, left: maxJSON}
	decoder := json.NewDecoder(l)
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	k := &keys{draft: d, decoder: decoder}
	err := k.document()
	if err == nil {
		err = k.flush()
	}
	if l.passed {
		return failure.New(failure.TooLarge, "the JSON document has more than %d bytes", maxJSON)
	}
	return jsonFailure(err)
}

// jsonFailure keeps what the body's bounds said; the rest is a broken document.
func jsonFailure(err error) error {
	var known *failure.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		return failure.Wrap(err, failure.Invalid, "an item has the unknown member %s", strings.TrimPrefix(err.Error(), "json: unknown field "))
	default:
		return failure.Wrap(err, failure.Invalid, "the body is not valid JSON")
	}
}

// mistyped says what a value, which has a name, must be when it is of another type:
// an object, whose known members are texts.
func mistyped(err error, name string) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	kind, _, _ := strings.Cut(wrong.Value, " ") // a number may follow
	if wrong.Field == "" {
		return failure.Wrap(err, failure.Invalid, "%s must be an object, not %s", name, kinds[kind])
	}
	return failure.Wrap(err, failure.Invalid, "%q of %s must be a text, not %s", wrong.Field, name, kinds[kind])
}

// kinds are the types of JSON in words.
var kinds = map[string]string{"array": "a list", "bool": "true or false", "number": "a number", "object": "an object", "string": "a text"}

// keys reads the document.
type keys struct {
	draft   *draft
	decoder *json.Decoder
	waiting []reference
	seen    map[string]bool
}

func (k *keys) document() error {
	if err := k.expect('{', "the body must be an object"); err != nil {
		return err
	}
	k.seen = map[string]bool{}
	for k.decoder.More() {
		token, err := k.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if k.seen[name] {
			return failure.New(failure.Invalid, "the JSON document has %s twice", failure.Quote(name))
		}
		if err := k.member(name); err != nil {
			return err
		}
		k.seen[name] = true
	}
	if _, err := k.decoder.Token(); err != nil {
		return err
	}
	if _, err := k.decoder.Token(); !errors.Is(err, io.EOF) {
		return failure.New(failure.Invalid, "there is something after the JSON document")
	}
	if !k.seen["items"] {
		return failure.New(failure.Invalid, `"items" is missing`)
	}
	return nil
}

func (k *keys) expect(delimiter json.Delim, otherwise string) error {
	token, err := k.decoder.Token()
	if err != nil {
		return err
	}
	if token != delimiter {
		return failure.New(failure.Invalid, "%s", otherwise)
	}
	return nil
}

func (k *keys) member(name string) error {
	switch name {
	case "items":
		return k.items()
	case "parameters":
		var values map[string]any
		if err := k.decoder.Decode(&values); err != nil {
			return mistyped(err, `"parameters"`)
		}
		var err error
		k.draft.ask.parameters, err = parameters(values)
		return err
	}
	var value any
	if err := k.decoder.Decode(&value); err != nil {
		return err
	}
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		return k.draft.ask.set(name, v)
	case json.Number:
		return k.draft.ask.set(name, v.String())
	default:
		return failure.New(failure.Invalid, "%s must be a text or a number", failure.Quote(name))
	}
}

// lookups is how many objects are looked for at a time, in one turn.
const (
	lookups = 16
	turn    = 512
)

func (k *keys) items() error {
	if err := k.expect('[', `"items" must be a list`); err != nil {
		return err
	}
	if err := k.draft.promising(k.draft.ctx); err != nil {
		return err
	}
	for k.decoder.More() {
		var r reference
		at := int(k.draft.items) + len(k.waiting)
		if err := k.decoder.Decode(&r); err != nil {
			return mistyped(err, "item "+strconv.Itoa(at))
		}
		if r.Key == "" || len(r.Key) > maxName || len(r.Name) > maxName {
			return failure.New(failure.Invalid, `item %d needs a "key" of 1 to %d bytes, and a "name" of no more`, at, maxName)
		}
		if strings.ContainsRune(r.Key+r.Name, 0) {
			return failure.New(failure.Invalid, "item %d has a key or a name with a NUL byte", at)
		}
		if k.waiting = append(k.waiting, r); len(k.waiting) == turn {
			if err := k.flush(); err != nil {
				return err
			}
		}
	}
	_, err := k.decoder.Token()
	return err
}

// parameters are a document's as requests have them.
func parameters(values map[string]any) (oip.Parameters, error) {
	params := oip.Parameters{}
	for name, value := range values {
		switch v := value.(type) {
		case nil:
		case string:
			params[name] = oip.String(v)
		case bool:
			params[name] = oip.Bool(v)
		case json.Number:
			if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
				params[name] = oip.Int64(n)
				continue
			}
			f, err := v.Float64()
			if err != nil {
				return nil, failure.Wrap(err, failure.Invalid, "parameter %s is %s, which no number can hold", failure.Quote(name), failure.Quote(v.String()))
			}
			params[name] = &inference.InferParameter{ParameterChoice: &inference.InferParameter_DoubleParam{DoubleParam: f}}
		default:
			return nil, failure.New(failure.Invalid, "parameter %s must be a text, a number, true or false", failure.Quote(name))
		}
	}
	return params, nil
}
