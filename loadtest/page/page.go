package page

import (
	"embed"
	"html/template"
	"io"
)

//go:embed page.gohtml
var files embed.FS

// Write writes the page. An error is the writer's.
func Write(w io.Writer, r *Report) error {
	t, err := template.ParseFS(files, "page.gohtml")
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}
