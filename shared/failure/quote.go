package failure

import (
	"strconv"
	"unicode/utf8"
)

// mostQuoted bounds a caller's text in a message.
const mostQuoted = 128

// Quote shows a caller's text in a message: in quotes, cut when it is long.
func Quote(text string) string {
	if len(text) <= mostQuoted {
		return strconv.Quote(text)
	}
	end := mostQuoted
	for end > mostQuoted-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return strconv.Quote(text[:end] + "...")
}
