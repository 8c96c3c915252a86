package rest

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"triptych/gateway/rest/jsonlex"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// elements reads the JSON form of a tensor's data into its raw form.
type elements struct {
	lexer    *jsonlex.Lexer
	datatype string
	shape    []int64
	// volumes[k] is how many elements one list at level k holds.
	volumes []int64
	// add appends the raw form of the next element, which is of the kind.
	add  func(e *elements, kind jsonlex.Kind) error
	data []byte
}

// readElements reads data: a flat list of all elements, or lists in lists as
// the shape has them. The result is not nil.
func readElements(l *jsonlex.Lexer, datatype string, shape []int64, isBase64 bool) ([]byte, error) {
	count, err := oip.Elements(shape)
	if err != nil {
		return nil, err
	}
	e := &elements{lexer: l, datatype: datatype, shape: shape, volumes: make([]int64, len(shape)+1)}
	if e.add, err = reader(datatype, isBase64); err != nil {
		return nil, err
	}
	e.volumes[len(shape)] = 1
	for k := len(shape) - 1; k >= 0; k-- {
		e.volumes[k] = e.volumes[k+1] * shape[k]
	}
	// Each element takes two bytes of JSON or more, whatever the shape promises.
	room := min(count, int64(l.Left()/2)+1) * int64(max(oip.Size(datatype), 4))
	e.data = make([]byte, 0, room)
	if err := l.Expect(jsonlex.Array, `"data"`); err != nil {
		return nil, err
	}
	err = e.list(0)
	return e.data, err
}

// list reads a list at a level: of lists, as many as the dimension says, or of
// all elements that the level holds.
func (e *elements) list(level int) error {
	if err := e.lexer.Open(jsonlex.Array); err != nil {
		return err
	}
	lists, i := false, int64(0)
	for ; ; i++ {
		more, err := e.lexer.More(jsonlex.Array, int(min(i, 1)))
		if err != nil {
			return err
		}
		if !more {
			break
		}
		kind, err := e.lexer.Peek()
		if err != nil {
			return err
		}
		if i == 0 {
			lists = kind == jsonlex.Array
		}
		if err := e.item(level, i, kind, lists); err != nil {
			return err
		}
	}
	if want := e.wanted(level, lists); i != want {
		return e.wrongCount(level, strconv.FormatInt(i, 10), want)
	}
	return nil
}

// wanted is how many items a list at a level has.
func (e *elements) wanted(level int, lists bool) int64 {
	if lists {
		return e.shape[level]
	}
	return e.volumes[level]
}

func (e *elements) item(level int, i int64, kind jsonlex.Kind, lists bool) error {
	if lists != (kind == jsonlex.Array) {
		return failure.New(failure.Invalid, `"data" mixes lists and values in one list`)
	}
	if lists && level+1 >= len(e.shape) {
		return failure.New(failure.Invalid, `"data" is nested deeper than shape %s`, oip.FormatShape(e.shape))
	}
	if want := e.wanted(level, lists); i >= want {
		return e.wrongCount(level, "more than "+strconv.FormatInt(want, 10), want)
	}
	if lists {
		return e.list(level + 1)
	}
	return e.add(e, kind)
}

func (e *elements) wrongCount(level int, got string, want int64) error {
	where := `"data"`
	if level > 0 {
		where = `a list in "data"`
	}
	return failure.New(failure.Invalid, "%s has %s elements where shape %s wants %d", where, got, oip.FormatShape(e.shape), want)
}

// wrong is the failure of one element.
func (e *elements) wrong(format string, args ...any) error {
	return failure.New(failure.Invalid, `"data" has %s`, fmt.Sprintf(format, args...))
}

// reader chooses how elements of a datatype are read.
func reader(datatype string, isBase64 bool) (func(*elements, jsonlex.Kind) error, error) {
	switch datatype {
	case "BOOL":
		return (*elements).boolean, nil
	case "INT8", "INT16", "INT32", "INT64":
		return (*elements).signed, nil
	case "UINT8":
		return (*elements).octet, nil
	case "UINT16", "UINT32", "UINT64":
		return (*elements).unsigned, nil
	case "FP32":
		return (*elements).single, nil
	case "FP64":
		return (*elements).double, nil
	case oip.Bytes:
		if isBase64 {
			return (*elements).base64, nil
		}
		return (*elements).text, nil
	case "FP16", "BF16":
		return nil, failure.New(failure.Invalid, "%s has no JSON form, send it as binary data", datatype)
	default:
		return nil, failure.New(failure.Invalid, "unknown datatype %s", failure.Quote(datatype))
	}
}

// expect is an error unless an element is of the kind that is wanted.
func (e *elements) expect(kind, want jsonlex.Kind) error {
	if kind != want {
		return e.wrong("%s where %s wants %s", kind, e.datatype, want)
	}
	return nil
}

func (e *elements) boolean(kind jsonlex.Kind) error {
	if err := e.expect(kind, jsonlex.Bool); err != nil {
		return err
	}
	v, err := e.lexer.Bool()
	if v {
		e.data = append(e.data, 1)
	} else {
		e.data = append(e.data, 0)
	}
	return err
}

func (e *elements) text(kind jsonlex.Kind) error {
	if err := e.expect(kind, jsonlex.String); err != nil {
		return err
	}
	text, err := e.lexer.Text()
	e.data = oip.AppendString(e.data, text)
	return err
}

func (e *elements) base64(kind jsonlex.Kind) error {
	if err := e.expect(kind, jsonlex.String); err != nil {
		return err
	}
	text, err := e.lexer.Text()
	if err != nil {
		return err
	}
	at := len(e.data)
	e.data = append(e.data, 0, 0, 0, 0)
	if e.data, err = base64.StdEncoding.AppendDecode(e.data, text); err != nil {
		return failure.Wrap(err, failure.Invalid, `"data" has a text that is not base64`)
	}
	binary.LittleEndian.PutUint32(e.data[at:], uint32(len(e.data)-at-4))
	return nil
}

func (e *elements) octet(kind jsonlex.Kind) error {
	negative, magnitude, text, ok, err := e.whole(kind)
	if err != nil {
		return err
	}
	if !ok || magnitude > math.MaxUint8 || negative && magnitude != 0 {
		return e.wrong("%s, which is not a UINT8", failure.Quote(string(text)))
	}
	e.data = append(e.data, byte(magnitude))
	return nil
}

func (e *elements) unsigned(kind jsonlex.Kind) error {
	negative, magnitude, text, ok, err := e.whole(kind)
	if err != nil {
		return err
	}
	size := oip.Size(e.datatype)
	if !ok || magnitude > math.MaxUint64>>(64-8*size) || negative && magnitude != 0 {
		return e.wrong("%s, which is not a %s", failure.Quote(string(text)), e.datatype)
	}
	e.word(magnitude, size)
	return nil
}

func (e *elements) signed(kind jsonlex.Kind) error {
	negative, magnitude, text, ok, err := e.whole(kind)
	if err != nil {
		return err
	}
	size := oip.Size(e.datatype)
	v, fits := jsonlex.Signed(negative, magnitude)
	unused := 64 - 8*size
	if !ok || !fits || v != v<<unused>>unused {
		return e.wrong("%s, which is not an %s", failure.Quote(string(text)), e.datatype)
	}
	e.word(uint64(v), size)
	return nil
}

func (e *elements) whole(kind jsonlex.Kind) (negative bool, magnitude uint64, text []byte, ok bool, err error) {
	if err := e.expect(kind, jsonlex.Number); err != nil {
		return false, 0, nil, false, err
	}
	return e.lexer.Whole()
}

// word appends the low bytes of v.
func (e *elements) word(v uint64, size int) {
	e.data = binary.LittleEndian.AppendUint64(e.data, v)
	e.data = e.data[:len(e.data)-8+size]
}

func (e *elements) single(kind jsonlex.Kind) error {
	v, err := e.float(kind, 32)
	e.data = binary.LittleEndian.AppendUint32(e.data, math.Float32bits(float32(v)))
	return err
}

func (e *elements) double(kind jsonlex.Kind) error {
	v, err := e.float(kind, 64)
	e.data = binary.LittleEndian.AppendUint64(e.data, math.Float64bits(v))
	return err
}

func (e *elements) float(kind jsonlex.Kind, bits int) (float64, error) {
	if err := e.expect(kind, jsonlex.Number); err != nil {
		return 0, err
	}
	text, err := e.lexer.Number()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(string(text), bits)
	if err != nil {
		return 0, e.wrong("%s, which %s cannot hold", failure.Quote(string(text)), e.datatype)
	}
	return v, nil
}
