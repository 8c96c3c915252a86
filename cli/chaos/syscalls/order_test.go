package syscalls_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/cli/chaos/syscalls"
)

// What strace sees of one message.
const (
	read   = `1 read(9<TCP:[127.0.0.1:4222->127.0.0.1:5]>, "HPUB triptych.verdict.J.3 _INBOX.A.B 119 133\r\nNATS/1.0\r\n", 128) = 128`
	write  = `2 pwrite64(12</s/TRIPTYCH_VERDICTS/msgs/1.blk>, "\273\0\0\200M\267\27\201\24\0triptych.verdict.J.3w\0\0\0NATS/1.0\r\n", 187, 0) = 187`
	sync   = `2 fsync(12</s/TRIPTYCH_VERDICTS/msgs/1.blk>) = 0`
	answer = `2 writev(9<TCP:[127.0.0.1:4222->127.0.0.1:5]>, [{iov_base="MSG _INBOX.A.B 1 38\r\n{\"stream\":\"TRIPTYCH_VERDICTS\",\"seq\":1}\r\n", iov_len=89}], 1) = 89`
)

func TestRead(t *testing.T) {
	const prefix = "triptych.verdict."
	fault := []string{"triptych.verdict.J.3 was acknowledged before it was synced"}
	tests := map[string]struct {
		lines  []string
		acks   int
		faults []string
	}{
		"in order":         {[]string{read, write, sync, answer}, 1, nil},
		"not synced":       {[]string{read, write, answer}, 1, fault},
		"not even written": {[]string{read, sync, answer}, 1, fault},
		"synced later":     {[]string{read, write, answer, sync}, 1, fault},
		"synced before":    {[]string{read, sync, write, answer}, 1, fault},
		"another file":     {[]string{read, write, strings.ReplaceAll(sync, "VERDICTS", "INPUTS"), answer}, 1, fault},
		"twice":            {[]string{read, write, sync, answer, strings.ReplaceAll(read, "A.B", "A.C"), write, strings.ReplaceAll(answer, "A.B", "A.C")}, 2, fault},
		"a file that is synced by itself": {
			[]string{`2 openat(AT_FDCWD</s>, "/s/1.blk", O_WRONLY|O_SYNC|O_CLOEXEC, 0600) = 12</s/TRIPTYCH_VERDICTS/msgs/1.blk>`, read, write, answer}, 1, nil,
		},
		"a read in two pieces": {
			[]string{
				`1 read(9<TCP:[127.0.0.1:4222->127.0.0.1:5]>, "HPUB triptych.verd", 128) = 18`,
				`1 read(9<TCP:[127.0.0.1:4222->127.0.0.1:5]>, "ict.J.3 _INBOX.A.B 119 133\r\n", 128) = 128`, write, sync, answer,
			}, 1, nil,
		},
		"the sync ends before the answer begins": {
			[]string{read, write, `2 fsync(12</s/TRIPTYCH_VERDICTS/msgs/1.blk> <unfinished ...>`, `3 read(9<TCP:[x]>,  <unfinished ...>`, `2 <... fsync resumed>) = 0`, answer}, 1, nil,
		},
		"the answer begins before the sync ends": {
			[]string{read, write, `2 fsync(12</s/TRIPTYCH_VERDICTS/msgs/1.blk> <unfinished ...>`, strings.Replace(strings.ReplaceAll(answer, "2 writev", "3 writev"), `, 1) = 89`, `, 1 <unfinished ...>`, 1), `2 <... fsync resumed>) = 0`, `3 <... writev resumed>) = 89`},
			1, fault,
		},
		"another subject": {[]string{strings.ReplaceAll(read, "verdict", "input"), strings.ReplaceAll(write, "verdict", "input"), answer}, 0, nil},
		"refused":         {[]string{read, strings.ReplaceAll(answer, `{\"stream\"`, `{\"error\":{\"code\":503},\"stream\"`)}, 0, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			report, err := syscalls.Read(strings.NewReader(strings.Join(tt.lines, "\n")+"\n"), prefix)
			if err != nil {
				t.Fatal(err)
			}
			if report.Acknowledged[prefix] != tt.acks {
				t.Errorf("%d acknowledgements, want %d", report.Acknowledged[prefix], tt.acks)
			}
			if diff := cmp.Diff(tt.faults, report.Faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
