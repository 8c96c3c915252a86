package decode

import (
	"image"

	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// BMPDecoder names what decodes BMP.
const BMPDecoder = "triptych"

// bmpFile is what the header of a BMP file says. The pixels have not been looked
// at.
type bmpFile struct {
	data          []byte
	width, height int
	topDown       bool
	bits          int
	compression   uint32
	offset        int64
	palette       colorTable
	unpacked      []byte // a row of indices
	masks         [4]bmpMask
}

func bmpHeader(data []byte) (*header, error) {
	f, err := scanBMP(data)
	if err != nil {
		return nil, err
	}
	return &header{
		width: f.width, height: f.height, orientation: upright,
		memory: pixels.Samples * int64(f.width) * int64(f.height),
		pixels: f.decode,
	}, nil
}

func (f *bmpFile) decode(j job) (*pixels.Image, error) {
	if f.compression == bmpRLE8 || f.compression == bmpRLE4 {
		return f.decodeRLE(j)
	}
	stride := (int64(f.width)*int64(f.bits) + 31) / 32 * 4
	used := (int64(f.width)*int64(f.bits) + 7) / 8 // the last row needs no padding
	if f.offset > int64(len(f.data)) || int64(len(f.data))-f.offset < stride*int64(f.height-1)+used {
		return nil, broken(nil, BMP, truncated)
	}
	img := j.pool.Image(image.Pt(f.width, f.height), j.view.Region)
	for y := img.Bounds.Min.Y; y < img.Bounds.Max.Y; y++ {
		row := f.data[f.offset+stride*int64(f.stored(y)):][:used]
		err := failure.OfContext(j.ctx)
		if err == nil {
			err = f.row(j, row, img.Bounds.Min.X, img.Row(y))
		}
		if err != nil {
			img.Release()
			return nil, err
		}
	}
	return img, nil
}

// stored is where row y of the picture stands in the file, which begins at the
// bottom more often than not.
func (f *bmpFile) stored(y int) int {
	if f.topDown {
		return y
	}
	return f.height - 1 - y
}
