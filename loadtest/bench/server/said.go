package server

import (
	"bytes"
	"io"
	"os"
	"strings"
)

// lastWords bounds what an error shows of a log, in bytes.
const lastWords = 1500

// said is the part of a log that was written since a process was started. Others
// may write to it too.
type said struct {
	file  *os.File // nil where the log is none
	begin int64
}

func listen(log io.Writer) said {
	file, ok := log.(*os.File)
	if !ok {
		return said{}
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return said{}
	}
	return said{file: file, begin: info.Size()}
}

// last is the end of it, as more lines of an error; empty where there is nothing.
func (s said) last() string {
	if s.file == nil {
		return ""
	}
	info, err := s.file.Stat()
	if err != nil {
		return ""
	}
	begin := max(s.begin, info.Size()-lastWords)
	data := make([]byte, max(info.Size()-begin, 0))
	n, err := s.file.ReadAt(data, begin)
	if err != nil && n == 0 {
		return ""
	}
	text := strings.TrimSpace(string(bytes.ToValidUTF8(data[:n], nil)))
	if text == "" {
		return ""
	}
	return "\n" + text
}
