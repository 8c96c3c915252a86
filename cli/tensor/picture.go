package tensor

import (
	"image"
	"math"
	"slices"
)

// Channel is what there is to say of one.
type Channel struct {
	Name string  `json:"name"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

// Summary sums up the elements by channel.
func (v View) Summary(values []float64) []Channel {
	summary := make([]Channel, len(v.Channels))
	for c, name := range v.Channels {
		least, most, sum := math.Inf(1), math.Inf(-1), 0.0
		for y := range v.Height {
			for x := range v.Width {
				value := values[v.at(x, y, c)]
				least, most, sum = min(least, value), max(most, value), sum+value
			}
		}
		summary[c] = Channel{Name: name, Min: least, Max: most, Mean: sum / float64(v.Width*v.Height)}
	}
	return summary
}

// Picture turns the elements back into what a person can look at: with the
// normalisation undone where it is known, else spread from the least to the
// greatest of them.
func (v View) Picture(values []float64) image.Image {
	undo := v.undo
	if undo == nil {
		undo = slices.Repeat([]func(float64) float64{spread(values)}, len(v.Channels))
	}
	img := image.NewNRGBA(image.Rect(0, 0, v.Width, v.Height))
	for y := range v.Height {
		for x := range v.Width {
			pixel := img.Pix[img.PixOffset(x, y):][:4]
			pixel[3] = math.MaxUint8
			for c, name := range v.Channels {
				s := sample(undo[c](values[v.at(x, y, c)]))
				switch name {
				case "R":
					pixel[0] = s
				case "G":
					pixel[1] = s
				case "B":
					pixel[2] = s
				default:
					pixel[0], pixel[1], pixel[2] = s, s, s
				}
			}
		}
	}
	return img
}

// spread brings the least to 0 and the greatest to 255.
func spread(values []float64) func(float64) float64 {
	least, most := slices.Min(values), slices.Max(values)
	if most <= least {
		most = least + 1
	}
	return func(v float64) float64 { return math.MaxUint8 * (v - least) / (most - least) }
}

// sample is the nearest there is. What is not a number is black.
func sample(v float64) byte {
	if !(v > 0) {
		return 0
	}
	return byte(math.Round(min(v, math.MaxUint8)))
}
