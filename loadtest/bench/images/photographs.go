package images

import (
	"fmt"
	"os"

	"triptych/loadtest/bench/photo"
)

// grains make the files as large as those of real photographs are.
func grains() map[string]float32 {
	return map[string]float32{small: 18, sent: 20, medium: 16, large: 14}
}

func takePhotograph(file, size string, seed uint32) error {
	var width, height int
	if _, err := fmt.Sscanf(size, "%dx%d", &width, &height); err != nil {
		return fmt.Errorf("make a photograph of %s: %w", size, err)
	}
	data, err := photo.JPEG(width, height, seed, grains()[size])
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
