// Package spots is pictures and models for tests that must know whose answer an
// answer is. A picture is a row of dark pixels with one bright spot; the model tells
// where the spot is and how bright, and so which of some ten thousand pictures it
// saw. Only tests import it.
package spots

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
)

// Width is how many pixels a picture has, in one row. The first is never the spot.
const Width = 64

// The brightness of a spot.
const (
	dimmest   = 60
	brightest = 255
)

// Poison is the picture that the model "poisoned" can't bear.
const Poison = -1

// poisonPixel is the first pixel of the poisoned picture: PoisonByte is how its
// number begins, and no other picture's does.
const poisonPixel = 200

// Spot is where a picture's spot is, and its brightness from 0 to 1.
type Spot struct {
	Class int
	Score float32
}

// Of is the answer to picture n.
func Of(n int) Spot {
	if n == Poison {
		return Spot{0, poisonPixel / 255.0}
	}
	return Spot{1 + n%(Width-1), float32(brightness(n)) / 255}
}

func brightness(n int) int { return dimmest + n/(Width-1)%(brightest-dimmest+1) }

// Picture makes picture n as a PNG with so many bytes more that mean nothing.
func Picture(n, padding int) ([]byte, error) {
	img := image.NewGray(image.Rect(0, 0, Width, 1))
	if n == Poison {
		img.SetGray(0, 0, color.Gray{Y: poisonPixel})
	} else {
		img.SetGray(Of(n).Class, 0, color.Gray{Y: uint8(brightness(n))}) //nolint:gosec // below 256
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, err
	}
	return pad(b.Bytes(), n, padding), nil
}

// header is the length of a PNG's signature and first chunk.
const header = 8 + 25

// pad puts a chunk that readers pass over behind the first.
func pad(file []byte, n, padding int) []byte {
	if padding == 0 {
		return file
	}
	chunk := binary.BigEndian.AppendUint32(nil, uint32(padding)) //nolint:gosec // a test's few bytes
	body := append([]byte("paDd"), make([]byte, padding)...)
	noise := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)})
	_, _ = noise.Read(body[4:]) // it gives no error
	chunk = binary.BigEndian.AppendUint32(append(chunk, body...), crc32.ChecksumIEEE(body))
	return append(append(append([]byte{}, file[:header]...), chunk...), file[header:]...)
}

// PoisonByte is how the poisoned picture's tensor begins.
func PoisonByte() byte {
	return byte(math.Float32bits(float32(float64(poisonPixel) / 255)))
}
