package decode

import (
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// bmpRuns unpacks run-length codes. The pixels are numbered in the order of the
// file, row after row.
type bmpRuns struct {
	file *bmpFile
	job  job
	img  *pixels.Image
	in   int64 // the next byte
	at   int   // the next pixel
	x    int   // how far the row has come. It may be beyond its end
	// blank tells that nothing has been said of the row yet.
	blank bool
}

// The codes behind a zero. Greater ones count pixels that follow as they are.
const (
	bmpEndOfRow = 0
	bmpEnd      = 1
	bmpMove     = 2
)

func (f *bmpFile) decodeRLE(j job) (*pixels.Image, error) {
	if f.offset > int64(len(f.data)) {
		return nil, broken(nil, BMP, truncated)
	}
	r := &bmpRuns{file: f, job: j, img: j.pool.Whole(f.width, f.height), in: f.offset, blank: true}
	err := r.run()
	if err == nil {
		err = r.skip(f.width*f.height - r.at)
	}
	if err != nil {
		r.img.Release()
		return nil, err
	}
	return r.img, nil
}

// run reads codes up to the end of the bitmap, or to its last pixel.
func (r *bmpRuns) run() error {
	for codes := 0; r.at < r.file.width*r.file.height; codes++ {
		if codes%(1<<12) == 0 {
			if err := failure.OfContext(r.job.ctx); err != nil {
				return err
			}
		}
		code, err := r.bytes(2)
		if err != nil {
			return err
		}
		if code[0] == 0 && code[1] == bmpEnd {
			return nil
		}
		if err := r.code(int(code[0]), code[1]); err != nil {
			return err
		}
	}
	return nil
}

func (r *bmpRuns) code(count int, value byte) error {
	switch {
	case count > 0:
		r.blank = false
		count = max(min(count, r.file.width-r.x), 0) // what is too much for the row is dropped
		r.x += count
		return r.repeat(value, count)
	case value == bmpEndOfRow:
		return r.endRow()
	case value == bmpMove:
		return r.move()
	default:
		r.blank = false
		r.x += int(value)
		return r.literal(int(value))
	}
}

func (r *bmpRuns) endRow() error {
	rest := (r.file.width - r.at%r.file.width) % r.file.width
	if r.blank {
		rest = r.file.width
	}
	r.x, r.blank = 0, true
	return r.skip(rest)
}

func (r *bmpRuns) move() error {
	by, err := r.bytes(2)
	if err != nil {
		return err
	}
	err = r.skip(int(by[0]) + int(by[1])*r.file.width)
	r.x = r.at % r.file.width
	r.blank = r.x == 0
	return err
}

// repeat puts a color count times, or two colors in turn.
func (r *bmpRuns) repeat(value byte, count int) error {
	pair := [2]byte{value, value}
	if r.file.compression == bmpRLE4 {
		pair = [2]byte{value >> 4, value & 15}
	}
	for i := range count {
		if err := r.put(pair[i%2]); err != nil {
			return err
		}
	}
	return nil
}

// literal puts pixels that stand there as they are. They may run over the end of
// the row. What follows stands at an even place in the file.
func (r *bmpRuns) literal(count int) error {
	count = min(count, r.file.width*r.file.height-r.at)
	perByte := 1
	if r.file.compression == bmpRLE4 {
		perByte = 2
	}
	values, err := r.bytes((count + perByte - 1) / perByte)
	if err != nil {
		return err
	}
	for i := range count {
		value := values[i/perByte]
		if perByte == 2 {
			value = value >> (4 * (1 - i%2)) & 15
		}
		if err := r.put(value); err != nil {
			return err
		}
	}
	r.in += r.in % 2
	return nil
}

// skip leaves pixels out. They have color 0, as Pillow has it.
func (r *bmpRuns) skip(count int) error {
	for range min(count, r.file.width*r.file.height-r.at) {
		if err := r.put(0); err != nil {
			return err
		}
	}
	return nil
}

func (r *bmpRuns) put(index byte) error {
	y, x := r.at/r.file.width, r.at%r.file.width
	if x == 0 {
		if err := failure.OfContext(r.job.ctx); err != nil {
			return err
		}
	}
	r.at++
	copy(r.img.Row(r.file.stored(y))[pixels.Samples*x:], r.file.palette.rgb[index][:])
	return noColor(r.file.palette.check(index), BMP)
}

// bytes are the next n bytes of the file.
func (r *bmpRuns) bytes(n int) ([]byte, error) {
	if int64(len(r.file.data))-r.in < int64(n) {
		return nil, broken(nil, BMP, truncated)
	}
	at := r.in
	r.in += int64(n)
	return r.file.data[at:r.in], nil
}
