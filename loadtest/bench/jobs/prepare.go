package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"

	"triptych/loadtest/bench/photo"
)

// The models: an ensemble of three steps.
const (
	model   = "bench"
	first   = "imagenet_preprocess"
	standin = "standin"
	last    = "imagenet_postprocess"
)

// The photographs, of about 105 kB each.
const (
	width, height = 560, 420
	grain         = 20
	photographs   = 8
)

// prepare makes the repository and the images.
func (b *runner) prepare() error {
	err := errors.Join(
		os.CopyFS(filepath.Join(b.repository(), first), os.DirFS(filepath.Join(b.models, first))),
		os.CopyFS(filepath.Join(b.repository(), last), os.DirFS(filepath.Join(b.models, last))),
		os.CopyFS(filepath.Join(b.repository(), standin), os.DirFS(filepath.Join(b.standins, standin))),
		os.CopyFS(filepath.Join(b.repository(), model), os.DirFS(filepath.Join(b.ensemble, model))),
	)
	if err != nil {
		return fmt.Errorf("make a repository: %w", err)
	}
	for seed := range uint32(photographs) {
		data, err := photo.JPEG(width, height, seed+1, grain)
		if err != nil {
			return err
		}
		b.images = append(b.images, data)
	}
	return nil
}

func (b *runner) repository() string { return filepath.Join(b.folder, "models") }

// tiny is as small as an image may be that still is one.
func tiny() ([]byte, error) {
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		return nil, fmt.Errorf("make a tiny image: %w", err)
	}
	return out.Bytes(), nil
}
