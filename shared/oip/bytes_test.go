package oip_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/shared/failure"
	"triptych/shared/oip"
)

func TestStrings(t *testing.T) {
	tests := map[string]struct {
		data    string
		count   int64
		want    [][]byte
		message string
	}{
		"two":              {"\x02\x00\x00\x00ab\x01\x00\x00\x00c", 2, [][]byte{[]byte("ab"), []byte("c")}, ""},
		"none":             {"", 0, [][]byte{}, ""},
		"zero-length":      {"\x00\x00\x00\x00", 1, [][]byte{{}}, ""},
		"zero-length last": {"\x01\x00\x00\x00a\x00\x00\x00\x00", 2, [][]byte{[]byte("a"), {}}, ""},
		"prefix 0xFFFFFFFF": {
			"\xff\xff\xff\xffabcd", 1, nil,
			"BYTES element 0 says that it has 4294967295 bytes, but 4 are left (each element is its length as uint32, then its bytes)",
		},
		"JPEG without a prefix": {
			"\xff\xd8\xff\xe0JFIF", 1, nil,
			"BYTES element 0 says that it has 3774863615 bytes, but 4 are left (each element is its length as uint32, then its bytes)",
		},
		"big-endian": {
			"\x00\x00\x00\x02ab", 1, nil,
			"BYTES element 0 says that it has 33554432 bytes, but 2 are left (each element is its length as uint32, then its bytes)",
		},
		"last is short": {
			"\x01\x00\x00\x00a\x03\x00\x00\x00bc", 2, nil,
			"BYTES element 1 says that it has 3 bytes, but 2 are left (each element is its length as uint32, then its bytes)",
		},
		"half a prefix":    {"\x04\x00\x00\x00abcd\x01\x00", 2, nil, "BYTES element 1 of 2 has no length: 2 bytes are left"},
		"no second":        {"\x04\x00\x00\x00abcd", 2, nil, "BYTES element 1 of 2 has no length: 0 bytes are left"},
		"bytes left over":  {"\x01\x00\x00\x00abc", 1, nil, "2 bytes are left after the last of 1 BYTES elements"},
		"bytes for none":   {"abc", 0, nil, "3 bytes are left after the last of 0 BYTES elements"},
		"more than can be": {"\x00\x00\x00\x00", 1 << 62, nil, "4611686018427387904 BYTES elements need at least 4 bytes each, but only 4 bytes were sent"},
		"negative count":   {"\x00\x00\x00\x00", -1, nil, "-1 BYTES elements need at least 4 bytes each, but only 4 bytes were sent"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := oip.Strings([]byte(tt.data), tt.count)
			wantFailure(t, err, failure.Invalid, tt.message)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if err == nil && string(oip.JoinStrings(got...)) != tt.data {
				t.Errorf("joined again: %q", oip.JoinStrings(got...))
			}
		})
	}
}

// Elements are views: what is appended to one must not reach the next.
func TestStringsDoNotOverlap(t *testing.T) {
	data := oip.JoinStrings("ab", "cd")
	got, err := oip.Strings(data, 2)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(got[0], "XXXXXXXX"...)
	if !bytes.Equal(data, oip.JoinStrings("ab", "cd")) {
		t.Errorf("an append to element 0 wrote over the rest: %q", data)
	}
}

func FuzzStrings(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00ab\x00\x00\x00\x00"), int64(2))
	f.Add([]byte("\xff\xff\xff\xff"), int64(1))
	f.Add([]byte{}, int64(-1))
	f.Fuzz(func(t *testing.T, data []byte, count int64) {
		got, err := oip.Strings(data, count)
		if err != nil {
			if failure.KindOf(err) != failure.Invalid {
				t.Errorf("%v is %s", err, failure.KindOf(err))
			}
			return
		}
		if int64(len(got)) != count || !bytes.Equal(oip.JoinStrings(got...), data) {
			t.Errorf("%d elements of %q do not join to it again: %q", count, data, got)
		}
	})
}
