package jobstest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"mime/multipart"
	"strconv"
)

// Form is a form with one file for each image, and its content type.
func Form(images ...string) (body []byte, contentType string) {
	return FormOf(nil, images...)
}

// FormOf is a form with settings before the files.
func FormOf(settings map[string]string, images ...string) (body []byte, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range settings {
		_ = w.WriteField(name, value)
	}
	for i, image := range images {
		part, _ := w.CreateFormFile("image", strconv.Itoa(i)+".jpg")
		_, _ = io.WriteString(part, image)
	}
	_ = w.Close()
	return b.Bytes(), w.FormDataContentType()
}

// ZIP is an archive of pairs of a name and a content.
func ZIP(files ...string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, _ := w.Create(files[i])
		_, _ = io.WriteString(f, files[i+1])
	}
	_ = w.Close()
	return b.Bytes()
}

// TAR is an archive of pairs of a name and a content.
func TAR(files ...string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		_ = w.WriteHeader(&tar.Header{Name: files[i], Size: int64(len(files[i+1])), Mode: 0o600, Typeflag: tar.TypeReg})
		_, _ = io.WriteString(w, files[i+1])
	}
	_ = w.Close()
	return b.Bytes()
}

// Gzip packs a body.
func Gzip(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body)
	_ = w.Close()
	return b.Bytes()
}
