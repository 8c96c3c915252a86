package resample

import "math"

// Filter names a resampling filter, as Pillow does but for OpenCVLinear.
type Filter string

// Known tells whether there is such a filter.
func (f Filter) Known() bool {
	_, ok := kernels[f]
	return ok
}

// The filters.
const (
	Nearest  Filter = "nearest"
	Box      Filter = "box"
	Bilinear Filter = "bilinear"
	Hamming  Filter = "hamming"
	Bicubic  Filter = "bicubic"
	Lanczos  Filter = "lanczos"
	// OpenCVLinear is bilinear without antialiasing in the arithmetic of OpenCV's
	// INTER_LINEAR on bytes, for models that were trained behind cv2.resize.
	OpenCVLinear Filter = "opencv_linear"
)

// kernel is a filter's weight by distance and how far it reaches.
type kernel struct {
	support float64
	weight  func(x float64) float64
}

// kernels are Pillow's (src/libImaging/Resample.c), term by term. Conversions to
// float64 keep a compiler from fusing a product and a sum, which would round
// differently on some processors.
var kernels = map[Filter]kernel{
	Nearest: {},
	// It has weights of its own: see opencv.go.
	OpenCVLinear: {},
	Box:          {0.5, box},
	Bilinear:     {1, bilinear},
	Hamming:      {1, hamming},
	Bicubic:      {2, bicubic},
	Lanczos:      {3, lanczos},
}

func box(x float64) float64 {
	if x > -0.5 && x <= 0.5 {
		return 1
	}
	return 0
}

func bilinear(x float64) float64 {
	if x = math.Abs(x); x < 1 {
		return 1 - x
	}
	return 0
}

func hamming(x float64) float64 {
	x = math.Abs(x)
	switch {
	case x == 0:
		return 1
	case x >= 1:
		return 0
	}
	const a, b = float64(float32(0.54)), float64(float32(0.46)) // as in Pillow, which has them in single precision
	x *= math.Pi
	return math.Sin(x) / x * (a + float64(b*math.Cos(x)))
}

// bicubic has a = -0.5, the Catmull-Rom spline.
func bicubic(x float64) float64 {
	const a = -0.5
	switch x = math.Abs(x); {
	case x < 1:
		return float64(float64(float64((a+2)*x)-(a+3))*x*x) + 1
	case x < 2:
		return (float64(float64(float64((x-5)*x)+8)*x) - 4) * a
	}
	return 0
}

func lanczos(x float64) float64 {
	if x >= -3 && x < 3 {
		return sinc(x) * sinc(x/3)
	}
	return 0
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}
