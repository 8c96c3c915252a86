package page

import "strings"

// safe are the characters that no shell takes for anything else.
const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%"

// CommandLine is a line that a shell reads as these words, for Report.Command.
func CommandLine(words []string) string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = word
		if word == "" || strings.Trim(word, safe) != "" {
			out[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
