package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
)

//go:embed page.gohtml page.css
var files embed.FS

// Write writes the page. An error is the writer's, or a chart's that could not
// be drawn.
func Write(w io.Writer, r *Report) error {
	style, err := files.ReadFile("page.css")
	if err != nil {
		return err
	}
	v, err := newView(r)
	if err != nil {
		return err
	}
	v.Style, v.Policy = template.CSS(style), policy(style)
	t, err := template.ParseFS(files, "page.gohtml")
	if err != nil {
		return err
	}
	return t.Execute(w, v)
}

// policy forbids the page everything but its own style sheet: whatever a hostile
// text may be taken for, it is neither run nor fetched.
func policy(style []byte) string {
	sum := sha256.Sum256(style)
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}
