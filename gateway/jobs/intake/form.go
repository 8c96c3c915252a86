package intake

import (
	"io"
	"mime"
	"mime/multipart"
	"strings"

	"triptych/gateway/web"
	"triptych/shared/failure"
)

// formReader reads the parts of a form: those with a file name are items, in order,
// and the others are settings.
func formReader(boundary string) (read, error) {
	if boundary == "" {
		return nil, failure.New(failure.Invalid, "the form has no boundary in its content type")
	}
	return func(d *draft, body io.Reader) error {
		form := multipart.NewReader(body, boundary)
		for {
			part, err := form.NextRawPart()
			if err == io.EOF { //nolint:errorlint // a wrapped one is a form that was cut
				return nil
			}
			if err != nil {
				return web.FormFailure(err)
			}
			if part.FileName() == "" {
				err = d.field(part)
			} else {
				err = d.file(part)
			}
			if err != nil {
				return err
			}
		}
	}, nil
}

// fileName is the name of a part's file with its folders, which FileName leaves out.
func fileName(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if name := params["filename"]; err == nil && name != "" {
		return name
	}
	return part.FileName()
}

// field takes a setting.
func (d *draft) field(part *multipart.Part) error {
	value, err := io.ReadAll(io.LimitReader(&web.PartReader{Part: part}, maxSetting+1))
	if err != nil {
		return err
	}
	return d.ask.set(part.FormName(), string(value))
}

// file takes an item. Before the first one, the settings that have come are checked,
// so that nobody sends everything for nothing.
func (d *draft) file(part *multipart.Part) error {
	name := fileName(part)
	if len(name) > maxName {
		return failure.New(failure.Invalid, "the name of a file has more than %d bytes", maxName)
	}
	if strings.ContainsRune(name, 0) {
		return failure.New(failure.Invalid, "the name %s of a file has a NUL byte", failure.Quote(name))
	}
	if d.items == 0 {
		if err := d.promising(d.ctx); err != nil {
			return err
		}
	}
	return d.image(strings.ToValidUTF8(name, "\uFFFD"), &web.PartReader{Part: part})
}
