package web

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"triptych/shared/failure"
)

// compressFrom is the size from which a JSON answer is worth compressing.
const compressFrom = 1 << 10

// JSON writes value as the whole answer. A number that JSON can't hold is
// Internal, and then nothing has been written.
func JSON(c *gin.Context, status int, value any) error {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return failure.Wrap(err, failure.Internal, "the answer has a value that JSON cannot hold, such as a non-finite number")
	}
	return JSONText(c, status, body.Bytes())
}

// JSONText writes a finished JSON document as the whole answer, compressed when
// the client accepts gzip and it pays. The text may be reused afterwards.
func JSONText(c *gin.Context, status int, text []byte) error {
	h := c.Writer.Header()
	h.Set("Content-Type", "application/json")
	if len(text) >= compressFrom {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(c.Request.Header.Values("Accept-Encoding")) {
			packed, err := compress(text)
			if err != nil {
				return failure.Wrap(err, failure.Internal, "the answer could not be compressed")
			}
			h.Set("Content-Encoding", "gzip")
			text = packed
		}
	}
	return Parts(c, status, text)
}

// Parts writes the answer's body, whose headers have been set, in pieces that
// are not copied. A client that has gone is no failure: nobody could read it.
func Parts(c *gin.Context, status int, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	c.Writer.Header().Set("Content-Length", strconv.Itoa(size))
	c.Status(status)
	c.Writer.WriteHeaderNow()
	if c.Request.Method == http.MethodHead {
		return nil
	}
	for _, p := range parts {
		if _, err := c.Writer.Write(p); err != nil {
			_ = c.Error(err)
			return nil
		}
	}
	return nil
}

// compressors are kept, for each has about 800 kB of tables.
var compressors = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return w
}}

func compress(text []byte) ([]byte, error) {
	packed := bytes.NewBuffer(make([]byte, 0, len(text)/2))
	w, _ := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(packed)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// acceptsGzip reads Accept-Encoding as RFC 9110 has it; "*" is not taken for a
// wish.
func acceptsGzip(values []string) bool {
	for _, value := range values {
		for coding := range strings.SplitSeq(value, ",") {
			name, params, _ := strings.Cut(coding, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			weight, ok := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
			if !ok {
				return true
			}
			q, err := strconv.ParseFloat(weight, 64)
			return err == nil && q > 0
		}
	}
	return false
}
