package failure_test

import (
	"strings"
	"testing"

	"triptych/shared/failure"
)

func TestQuote(t *testing.T) {
	long := strings.Repeat("n", 200)
	for name, tt := range map[string]struct{ text, want string }{
		"short":                {"a\n", `"a\n"`},
		"as long as can":       {long[:128], `"` + long[:128] + `"`},
		"longer":               {long[:129], `"` + long[:128] + `..."`},
		"cut between runes":    {long[:127] + "☃", `"` + long[:127] + `..."`},
		"cut outside UTF-8":    {strings.Repeat("\x80", 200), `"` + strings.Repeat(`\x80`, 124) + `..."`},
		"not UTF-8, and short": {"\xff", `"\xff"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failure.Quote(tt.text); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
