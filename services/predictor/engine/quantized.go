package engine

import (
	"bytes"
	"io"
	"os"
)

// dynamicOperator is the operator of dynamic quantization as a file has it:
// field 4 of a node, 21 bytes long. Its range is that of the whole batch.
var dynamicOperator = []byte("\x22\x15DynamicQuantizeLinear")

// searched bounds the part of a file that is looked through. Nodes come before
// weights.
const searched = 64 << 20

// quantizesDynamically tells whether a model file has the operator. One that
// can't be read has been refused by the runtime before.
func quantizesDynamically(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	chunk := make([]byte, 1<<20)
	kept := 0 // bytes at the end of the last chunk, where the operator may begin
	for done := 0; done < searched; {
		n, err := io.ReadFull(file, chunk[kept:])
		if bytes.Contains(chunk[:kept+n], dynamicOperator) {
			return true
		}
		if err != nil { // the end, too
			return false
		}
		done += n
		kept = copy(chunk, chunk[len(chunk)-len(dynamicOperator)+1:])
	}
	return false
}
