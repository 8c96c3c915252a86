// Package pixelstest knows where turned pixels come from. It is for tests alone.
package pixelstest

// Source is where the upright pixel (x,y) of an image with EXIF's orientation, 1 to
// 8, is stored. The upright image has width x height pixels.
func Source(orientation, x, y, width, height int) (storedX, storedY int) {
	switch orientation {
	case 2:
		return width - 1 - x, y
	case 3:
		return width - 1 - x, height - 1 - y
	case 4:
		return x, height - 1 - y
	case 5:
		return y, x
	case 6:
		return y, width - 1 - x
	case 7:
		return height - 1 - y, width - 1 - x
	case 8:
		return height - 1 - y, x
	default:
		return x, y
	}
}
