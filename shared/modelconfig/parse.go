// Package modelconfig reads the configuration of a model, config.pbtxt or its
// JSON form, and checks it. Its errors name the file, the line and the column.
// It reads no model files: completing a configuration is a backend's work.
package modelconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Filename is the name of the configuration in a model's directory.
const Filename = "config.pbtxt"

// byteOrderMark begins the files of some editors. Triton steps over it too.
const byteOrderMark = "\uFEFF"

// ParseText reads the protobuf text format. An error is Invalid and begins with
// "file:line:column: ".
func ParseText(file string, data []byte) (*inference.ModelConfig, error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	cfg := &inference.ModelConfig{}
	if err := prototext.Unmarshal(data, cfg); err != nil {
		return nil, textError(file, data, err)
	}
	return cfg, nil
}

// textPosition finds the "(line 3:5)" that the protobuf library puts before
// what is wrong. Its words are not a promise, so an unknown form is shown whole.
var textPosition = regexp.MustCompile(`\(line (\d+):(\d+)\):\s*(.*)$`)

var unknownField = regexp.MustCompile(`unknown field:?\s*"?([A-Za-z0-9_]+)"?`)

func textError(file string, data []byte, err error) error {
	text := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "proto:"), "\u00a0", " ")
	if strings.TrimSpace(text) == "unexpected EOF" { // the one fault without a position
		line, column := position(data, len(data))
		return failure.Wrap(err, failure.Invalid, "%s:%d:%d: the text ends too early: a brace, a bracket or a quote is open", file, line, column)
	}
	m := textPosition.FindStringSubmatch(text)
	if m == nil {
		return failure.New(failure.Invalid, "%s: %s", file, strings.TrimSpace(text))
	}
	what := m[3]
	if field := unknownField.FindStringSubmatch(what); field != nil {
		what += suggestion(field[1], fieldNames())
	}
	return failure.New(failure.Invalid, "%s:%s:%s: %s", file, m[1], m[2], what)
}

// ParseJSON reads the JSON form that Triton's load API takes: snake_case names,
// enums in any case, unknown fields refused.
func ParseJSON(source string, data []byte) (*inference.ModelConfig, error) {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, &json.RawMessage{}); errors.As(err, &syntax) {
		line, column := position(data, int(syntax.Offset)-1) // Offset is behind the culprit
		return nil, failure.Wrap(err, failure.Invalid, "%s:%d:%d: %s", source, line, column, syntax.Error())
	}
	cfg := &inference.ModelConfig{}
	err := protojson.Unmarshal(data, cfg)
	if err == nil {
		return cfg, nil
	}
	// Triton takes the names of enums in any case; protojson does not.
	if upper, ok := upperEnums(data); ok {
		proto.Reset(cfg)
		if protojson.Unmarshal(upper, cfg) == nil {
			return cfg, nil
		}
	}
	return nil, textError(source, data, err)
}

// position is the line and column, both from 1, of a byte offset. Columns are
// characters, as in the messages of the protobuf library.
func position(data []byte, offset int) (line, column int) {
	before := string(data[:min(max(offset, 0), len(data))])
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1
}

// at is a place in a configuration file.
type at struct {
	file         string
	line, column int
}

func (p at) String() string {
	if p.line == 0 {
		return p.file
	}
	return p.file + ":" + strconv.Itoa(p.line) + ":" + strconv.Itoa(p.column)
}

func (p at) failf(format string, args ...any) error {
	return failure.New(failure.Invalid, "%s: %s", p, fmt.Sprintf(format, args...))
}
