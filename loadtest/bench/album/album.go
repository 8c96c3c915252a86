// Package album makes photographs for a load test: parts of real ones, each of
// another place and size, as JPEG files of about the same length. They are the same
// on every machine of an architecture.
package album

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"

	"github.com/disintegration/imaging"
	"golang.org/x/image/webp"
	"golang.org/x/sync/errgroup"
)

// Bytes is about how long a file is, and Width and Height about how large.
const (
	Bytes  = 120_000
	Width  = 490
	Height = 420
)

// spread is by how much Width and Height differ at most.
const spread = 20

// closest and farthest are how much of a photograph a part shows.
const closest, farthest = 1.6, 1.05

// originals are the photographs that parts are taken of.
func originals() []string { return []string{"astronaut.webp", "cat.jpg", "coffee.jpg", "rocket.jpg"} }

// Make takes so many photographs of those in a folder, which is testdata/images.
func Make(folder string, count int) ([][]byte, error) {
	var whole []image.Image
	for _, name := range originals() {
		img, err := open(filepath.Join(folder, name))
		if err != nil {
			return nil, fmt.Errorf("make photographs: %w", err)
		}
		whole = append(whole, img)
	}
	files := make([][]byte, count)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for n := range files {
		group.Go(func() (err error) {
			files[n], err = encode(part(whole[n%len(whole)], uint64(n)), uint64(n))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("make photographs: %w", err)
	}
	return files, nil
}

func open(file string) (img image.Image, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if filepath.Ext(file) == ".webp" {
		return webp.Decode(f)
	}
	return jpeg.Decode(f)
}

// part is a piece of a photograph, drawn by lot.
func part(whole image.Image, seed uint64) *image.NRGBA {
	lot := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same each time
	width, height := Width-spread+lot.IntN(2*spread+1), Height-spread+lot.IntN(2*spread+1)
	bounds := whole.Bounds()
	least := max(float64(width)/float64(bounds.Dx()), float64(height)/float64(bounds.Dy()))
	scale := least * (farthest + (closest-farthest)*lot.Float64())
	large := imaging.Resize(whole, int(scale*float64(bounds.Dx()))+1, int(scale*float64(bounds.Dy()))+1, imaging.CatmullRom)
	x, y := lot.IntN(large.Rect.Dx()-width+1), lot.IntN(large.Rect.Dy()-height+1)
	return imaging.Crop(large, image.Rect(x, y, x+width, y+height))
}

// The quality of the files, and how strong the grain may be that is added until
// they are as long as they shall be: a part that was made larger has none of its own.
const (
	quality  = 90
	coarsest = 64
	steps    = 6
)

// encode finds the grain with which the file is as long as it shall be.
func encode(img *image.NRGBA, seed uint64) ([]byte, error) {
	var file []byte
	least, most := 0, coarsest
	for range steps {
		grain := (least + most) / 2
		var out bytes.Buffer
		if err := jpeg.Encode(&out, grained(img, grain, seed), &jpeg.Options{Quality: quality}); err != nil {
			return nil, err
		}
		file = out.Bytes()
		if len(file) < Bytes {
			least = grain
		} else {
			most = grain
		}
	}
	return file, nil
}

// grained adds noise of a strength in levels, as a sensor does.
func grained(img *image.NRGBA, strength int, seed uint64) *image.RGBA {
	out := image.NewRGBA(img.Rect)
	draw.Draw(out, out.Rect, img, image.Point{}, draw.Src)
	lot := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // the same each time
	for i := 0; i < len(out.Pix); i += 4 {
		noise := lot.IntN(2*strength+1) - strength
		for c := range 3 {
			out.Pix[i+c] = uint8(min(max(int(out.Pix[i+c])+noise, 0), 255))
		}
	}
	return out
}
