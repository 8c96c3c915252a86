package preprocess

import (
	"strconv"
	"strings"

	"triptych/proto/inference"
	"triptych/services/preprocess/transform"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
)

// maxSize bounds what a configuration can ask an image to be resized to.
const maxSize = 16384

// sides are the width and height of an output, and how many channels it has.
func sides(layout transform.Layout, dims []int64) (width, height, channels int64) {
	if layout == transform.NCHW {
		return dims[2], dims[1], dims[0]
	}
	return dims[1], dims[0], dims[2]
}

// readDims takes the size of the result from the output's dims.
func readDims(params *modelconfig.Parameters, s *transform.Spec, out *inference.ModelOutput) {
	width, height, channels := sides(s.Layout, out.GetDims())
	count := s.Colors.Count()
	if channels == int64(count) && height >= 1 && height <= maxSize && width >= 1 && width <= maxSize {
		s.OutWidth, s.OutHeight = int(width), int(height)
		return
	}
	form := "[height,width," + strconv.Itoa(count) + "]"
	if s.Layout == transform.NCHW {
		form = "[" + strconv.Itoa(count) + ",height,width]"
	}
	params.Fail("layout", "is %s, whose dims in %s are %s with sides up to %d, but output %q has dims %s%s",
		s.Layout, s.Colors, form, maxSize, out.GetName(), oip.FormatShape(out.GetDims()), otherLayout(s, out.GetDims()))
}

// otherLayout names the layout that dims have, if it is the one that s has not.
func otherLayout(s *transform.Spec, dims []int64) string {
	other := transform.NCHW
	if s.Layout == transform.NCHW {
		other = transform.NHWC
	}
	if _, _, channels := sides(other, dims); channels != int64(s.Colors.Count()) {
		return ""
	}
	return ", which are those of " + string(other)
}

// readSize reads `size`: one number, or "width,height". Where it has to be that of
// the result it need not be said, and is held against it if it is.
func readSize(params *modelconfig.Parameters, s *transform.Spec, out *inference.ModelOutput) {
	text := params.Text("size", "")
	whole := s.Resize == transform.Longest || s.Resize == transform.Exact && !s.Crop
	switch {
	case s.Resize == transform.Keep && text != "":
		params.Fail("size", "is %q, but resize is %q", text, s.Resize)
	case s.Resize == transform.Keep:
	case text == "" && whole:
		s.Width, s.Height = s.OutWidth, s.OutHeight
	case text == "":
		params.Fail("size", "is missing, resize %q needs it", s.Resize)
	default:
		s.Width, s.Height = readSides(params, text, s.Resize)
		s.Size = s.Width
		if whole && (s.Width != s.OutWidth || s.Height != s.OutHeight) {
			params.Fail("size", "makes images of %dx%d (width x height), but output %q has dims %s, which is %dx%d",
				s.Width, s.Height, out.GetName(), oip.FormatShape(out.GetDims()), s.OutWidth, s.OutHeight)
		}
	}
}

func readSides(params *modelconfig.Parameters, text string, resize transform.Resize) (width, height int) {
	words := strings.Split(text, ",")
	numbers := make([]int, len(words))
	for i, w := range words {
		n, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil || n < 1 || n > maxSize {
			params.Fail("size", "is %q, must be whole numbers from 1 to %d", text, maxSize)
			return 1, 1
		}
		numbers[i] = n
	}
	switch {
	case len(numbers) == 1:
		return numbers[0], numbers[0]
	case len(numbers) == 2 && resize != transform.Shortest:
		return numbers[0], numbers[1]
	}
	params.Fail("size", "is %q, resize %q takes one number, resize %q and %q one or \"width,height\"", text, transform.Shortest, transform.Longest, transform.Exact)
	return 1, 1
}

// readPadding reads what lies around an image that is smaller than the result, and
// where in it such an image is.
func readPadding(params *modelconfig.Parameters, s *transform.Spec) {
	for _, key := range []string{"pad", "upscale"} {
		if given(params, key) && s.Resize != transform.Longest {
			params.Fail(key, "is given, but resize is %q, not %q", s.Resize, transform.Longest)
		}
	}
	s.Corner = params.Word("pad", "center", "corner") == "corner"
	s.ShrinkOnly = !params.Bool("upscale", true)
	if given(params, "pad_value") && !s.Pads() {
		params.Fail("pad_value", "is given, but no image is ever padded")
	}
	copy(s.Padding[:], readSamples(params, "pad_value", s.Colors.Count()))
}
