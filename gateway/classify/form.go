package classify

import (
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"

	"triptych/gateway/web"
	"triptych/shared/failure"
)

// maxFileName bounds the name of a file, which the answer repeats.
const maxFileName = 255

// form classifies the files of a form as they come in: while some are worked
// on, the next is read, and never more than the bound are in hand. Results are
// in the order of the files.
func (a *API) form(r *http.Request, boundary string, q query) ([]*result, error) {
	if boundary == "" {
		return nil, failure.New(failure.Invalid, "the form has no boundary in its content type")
	}
	ctx, cancel := context.WithCancel(r.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	free := make(chan struct{}, a.cfg.Parallel)
	var results []*result
	reader := multipart.NewReader(r.Body, boundary)
	for parts := 0; ; parts++ {
		part, err := reader.NextRawPart()
		if err == io.EOF { //nolint:errorlint // a wrapped one is a form that was cut
			break
		}
		if err != nil {
			return nil, web.FormFailure(err)
		}
		if parts == a.cfg.MaxFiles {
			return nil, failure.New(failure.TooLarge, "the form has more than %d files", a.cfg.MaxFiles)
		}
		if part.FileName() == "" {
			continue
		}
		done, element, err := a.file(part)
		if err != nil {
			return nil, err
		}
		results = append(results, done)
		if done.err != nil {
			continue
		}
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			*done = *a.image(ctx, q, done.name, element)
		})
	}
	running.Wait()
	if len(results) == 0 {
		return nil, failure.New(failure.Invalid, "the form has no file: send each image as a part with a file name")
	}
	return results, nil
}

// file reads one part. What is wrong with the file alone is in the result; an
// error is the whole form's.
func (a *API) file(part *multipart.Part) (*result, []byte, error) {
	name := part.FileName()
	if len(name) > maxFileName {
		return nil, nil, failure.New(failure.Invalid, "the name of a file has more than %d bytes", maxFileName)
	}
	done := &result{name: strings.ToValidUTF8(name, "\uFFFD")}
	source := &web.PartReader{Part: part}
	element, err := readImage(source, -1, a.cfg.MaxImage)
	if source.Err != nil {
		return nil, nil, source.Err
	}
	done.err = err
	return done, element, nil
}
