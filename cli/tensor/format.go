package tensor

import (
	"bytes"
	"net/http"
	"strings"
)

// Format guesses the format of a file, in lower case as servers name it in their
// metadata. It is for people to read: what decodes a file is the server's business.
func Format(data []byte) string {
	if bytes.HasPrefix(data, []byte("II*\x00")) || bytes.HasPrefix(data, []byte("MM\x00*")) {
		return "tiff"
	}
	name, _ := strings.CutPrefix(http.DetectContentType(data), "image/")
	return name
}
