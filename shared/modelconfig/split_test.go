package modelconfig_test

import (
	"testing"

	"triptych/shared/modelconfig"
)

func TestSplits(t *testing.T) {
	for text, want := range map[string]bool{
		"max_batch_size: 4": false,
		"max_batch_size: 4 parameters { key: \"batch_split\" value { string_value: \"true\" } }":   true,
		"max_batch_size: 4 parameters { key: \"batch_split\" value { string_value: \" 1 \" } }":    true,
		"max_batch_size: 4 parameters { key: \"batch_split\" value { string_value: \"false\" } }":  false,
		"max_batch_size: 4 parameters { key: \"batch_split\" value { string_value: \"always\" } }": false,
		"parameters { key: \"batch_split\" value { string_value: \"true\" } }":                     false,
	} {
		cfg, err := modelconfig.ParseText("config.pbtxt", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := modelconfig.Splits(cfg); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
}
