package tensor

import (
	"slices"
	"strconv"
	"strings"

	"triptych/shared/failure"
	"triptych/shared/oip"
)

// View is how an image is laid out in a tensor.
type View struct {
	Width, Height int
	// Channels are R, G and B in their order, or Y alone.
	Channels []string
	// planes tells that each channel has its own plane.
	planes bool
	// Undo turns an element into a sample from 0 to 255; nil when nobody has said
	// how the elements were made.
	undo []func(float64) float64
}

// See reads how an image is laid out from what a server says of the model: the
// keys "layout", "colors", "scale", "mean" and "std". What is not said is found
// out as far as the shape tells it.
func See(t oip.Tensor, said map[string]string) (View, error) {
	shape := t.Shape
	if len(shape) == 4 && shape[0] == 1 {
		shape = shape[1:]
	}
	if len(shape) != 3 {
		return View{}, failure.New(failure.Unsupported, "output %q is %s %s, which is not one image", t.Name, t.Datatype, oip.FormatShape(t.Shape))
	}
	v := View{planes: said["layout"] == "NCHW" || said["layout"] == "" && few(shape[0]) && !few(shape[2])}
	height, width, count := shape[0], shape[1], shape[2]
	if v.planes {
		count, height, width = shape[0], shape[1], shape[2]
	}
	v.Width, v.Height, v.Channels = int(width), int(height), channels(said["colors"], count)
	if int64(len(v.Channels)) != count {
		return View{}, failure.New(failure.Unsupported, "output %q is %s %s, which is no picture in %q", t.Name, t.Datatype, oip.FormatShape(t.Shape), said["colors"])
	}
	v.undo = undo(t.Datatype, len(v.Channels), said)
	return v, nil
}

// few tells whether so many can be channels.
func few(count int64) bool { return count == 1 || count == 3 }

func channels(colors string, count int64) []string {
	switch {
	case colors == "BGR":
		return []string{"B", "G", "R"}
	case colors == "GREY" || colors == "" && count == 1:
		return []string{"Y"}
	default:
		return []string{"R", "G", "B"}
	}
}

// Known tells whether the elements can be turned back into samples.
func (v View) Known() bool { return v.undo != nil }

// undo is the arithmetic of (sample*scale - mean) / std backwards, by channel.
func undo(datatype string, count int, said map[string]string) []func(float64) float64 {
	if datatype == "UINT8" {
		return slices.Repeat([]func(float64) float64{func(v float64) float64 { return v }}, count)
	}
	scale, mean, std := numbers(said["scale"], 1), numbers(said["mean"], count), numbers(said["std"], count)
	if scale == nil || mean == nil || std == nil || scale[0] == 0 {
		return nil
	}
	undo := make([]func(float64) float64, count)
	for c := range undo {
		undo[c] = func(v float64) float64 { return (v*std[c] + mean[c]) / scale[0] }
	}
	return undo
}

// numbers reads so many, separated by commas; nil where there are not.
func numbers(text string, count int) []float64 {
	words := strings.Split(text, ",")
	if len(words) != count {
		return nil
	}
	values := make([]float64, count)
	for i, word := range words {
		var err error
		if values[i], err = strconv.ParseFloat(strings.TrimSpace(word), 64); err != nil {
			return nil
		}
	}
	return values
}

// at is the index of an element.
func (v View) at(x, y, channel int) int {
	if v.planes {
		return (channel*v.Height+y)*v.Width + x
	}
	return (y*v.Width+x)*len(v.Channels) + channel
}
