package syscalls

import (
	"encoding/binary"
	"io"
	"regexp"
	"strings"
)

// Report is what a trace proves.
type Report struct {
	// Acknowledged is how many messages the server said it has, by the first
	// prefix that their subjects have.
	Acknowledged map[string]int
	// Faults are the messages that it said it has before they were on the disk.
	Faults []string
}

// order follows messages from the publisher's socket to the disk and back.
type order struct {
	prefixes []string
	report   Report
	publish  *regexp.Regexp
	// tails are the last bytes read from each socket: a line may come in two pieces.
	tails map[string]string
	// replies are the subjects of messages by where their acknowledgements go.
	replies map[string]string
	// written are the subjects of messages in a file that is not synced yet; synced
	// are those on the disk.
	written map[string]map[string]bool
	synced  map[string]bool
	// always are files whose writes are synced each.
	always map[string]bool
}

// Read checks the order of all messages whose subjects have one of the prefixes:
// written to a file, that file synced, and only then acknowledged.
func Read(trace io.Reader, prefixes ...string) (Report, error) {
	quoted := make([]string, len(prefixes))
	for i, p := range prefixes {
		quoted[i] = regexp.QuoteMeta(p)
	}
	o := &order{
		prefixes: prefixes, report: Report{Acknowledged: map[string]int{}},
		publish: regexp.MustCompile(`PUB ((?:` + strings.Join(quoted, "|") + `)\S*) (_INBOX\.\S+) \d`),
		tails:   map[string]string{}, replies: map[string]string{}, written: map[string]map[string]bool{}, synced: map[string]bool{}, always: map[string]bool{},
	}
	err := calls(trace, o.see)
	return o.report, err
}

func (o *order) see(c call) {
	socket := strings.HasPrefix(c.file, "TCP")
	switch {
	case c.name == "read" && socket:
		o.received(c)
	case c.name == "opensync":
		o.always[c.file] = true
	case c.name == "fsync", c.name == "fdatasync":
		for subject := range o.written[c.file] {
			o.synced[subject] = true
		}
		delete(o.written, c.file)
	case socket:
		o.sent(c)
	case strings.HasSuffix(c.file, ".blk") && c.name != "read":
		o.stored(c)
	}
}

// tail is how much of what was read is looked at again.
const tail = 1 << 10

func (o *order) received(c call) {
	_, body, _ := strings.Cut(c.text, `"`)
	body, _, _ = cutLast(body, `"`)
	text := o.tails[c.file] + body
	for _, m := range o.publish.FindAllStringSubmatch(text, -1) {
		if o.replies[m[2]] == "" {
			o.replies[m[2]] = m[1]
			o.synced[m[1]] = false
		}
	}
	o.tails[c.file] = text[max(0, len(text)-tail):]
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// stored notes the messages that a write puts into a file. There, a subject stands
// behind its length in two bytes.
func (o *order) stored(c call) {
	body := unquote(c.text)
	for _, subject := range o.replies {
		length := binary.LittleEndian.AppendUint16(nil, uint16(len(subject))) //nolint:gosec // subjects are short
		if !strings.Contains(body, string(length)+subject) {
			continue
		}
		if o.always[c.file] {
			o.synced[subject] = true
			continue
		}
		if o.written[c.file] == nil {
			o.written[c.file] = map[string]bool{}
		}
		o.written[c.file][subject] = true
	}
}

// acknowledgement is a message to a publisher: its inbox, then JSON.
var acknowledgement = regexp.MustCompile(`MSG (_INBOX\.\S+) [^{]*?(\{\\"stream\\":\\"[^}]*\})`)

func (o *order) sent(c call) {
	for _, m := range acknowledgement.FindAllStringSubmatch(c.text, -1) {
		subject := o.replies[m[1]]
		if subject == "" || strings.Contains(m[2], "duplicate") {
			continue
		}
		delete(o.replies, m[1])
		for _, p := range o.prefixes {
			if strings.HasPrefix(subject, p) {
				o.report.Acknowledged[p]++
				break
			}
		}
		if !o.synced[subject] {
			o.report.Faults = append(o.report.Faults, subject+" was acknowledged before it was synced")
		}
	}
}
