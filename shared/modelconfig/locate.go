package modelconfig

import (
	"bytes"

	"github.com/protocolbuffers/txtpbfmt/ast"
	"github.com/protocolbuffers/txtpbfmt/parser"
)

// place is one step on the way to a field: the index-th one of that name.
// A repeated field is one step, whether it is written as a list or many times.
type place struct {
	field string
	index int
}

// locator finds where in the text a field stands. Without a text, or when the
// text can't be followed, it knows the file alone.
type locator struct {
	file string
	text []byte
	root []*ast.Node
}

func newLocator(file string, text []byte) *locator {
	l := &locator{file: file, text: text}
	if nodes, err := parser.Parse(text); err == nil {
		l.root = nodes
	}
	return l
}

// at follows the path as far as it goes and gives the last place it found.
func (l *locator) at(path ...place) at {
	found := at{file: l.file}
	nodes := l.root
	for _, p := range path {
		node := pick(nodes, p)
		if node == nil {
			break
		}
		found.line, found.column = position(l.text, l.begin(node))
		nodes = node.Children
	}
	return found
}

// pick finds the index-th message or value called by the name of p.
func pick(nodes []*ast.Node, p place) *ast.Node {
	seen := 0
	for _, n := range nodes {
		if n.Name != p.field {
			continue
		}
		if n.ChildrenAsList {
			if p.index-seen < len(n.Children) {
				return n.Children[p.index-seen]
			}
			seen += len(n.Children)
			continue
		}
		// The values of a list have no positions of their own.
		seen += max(len(n.Values), 1)
		if p.index < seen {
			return n
		}
	}
	return nil
}

// entry is the step from path to the entry of a map that has the key, as it is
// written; the map's first entry when none has.
func (l *locator) entry(path []place, field, key string) place {
	nodes := l.root
	for _, p := range path {
		node := pick(nodes, p)
		if node == nil {
			return place{field, 0}
		}
		nodes = node.Children
	}
	for i := 0; ; i++ {
		node := pick(nodes, place{field, i})
		if node == nil {
			return place{field, 0}
		}
		if k := pick(node.Children, place{"key", 0}); k != nil && len(k.Values) > 0 && k.Values[0].Value == key {
			return place{field, i}
		}
	}
}

// begin is the offset of the first character of a node itself: the parser
// counts the comments and the blanks before it to the node.
func (l *locator) begin(n *ast.Node) int {
	offset := min(int(n.Start.Byte), len(l.text))
	for {
		rest := l.text[offset:]
		offset += len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,;"))
		if offset >= len(l.text) || l.text[offset] != '#' {
			return offset
		}
		end := bytes.IndexByte(l.text[offset:], '\n')
		if end < 0 {
			return len(l.text)
		}
		offset += end
	}
}
