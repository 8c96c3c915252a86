package decode

import "fmt"

// feature names what keeps the page from being read, if anything does.
func (p *tiffPage) feature() string {
	for _, check := range []func() string{p.compressionFeature, p.depthFeature, p.jpegFeature, p.predictorFeature} {
		if feature := check(); feature != "" {
			return feature
		}
	}
	return ""
}

func (p *tiffPage) compressionFeature() string {
	switch p.compression {
	case tiffNone, tiffLZW, tiffJPEG, tiffDeflate, tiffOldDeflate, tiffPackBits:
		return ""
	case tiffCCITT, tiffGroup3, tiffGroup4:
		if p.bits != 1 || p.samples != 1 {
			return "fax compression of more than one bit per pixel"
		}
		return ""
	case tiffOldJPEG:
		return "JPEG compression of the old kind (6)"
	}
	name := map[uint64]string{
		34712: "JPEG 2000", 34892: "lossy JPEG of DNG", 34925: "LZMA", 50000: "Zstandard", 50001: "WebP",
	}[p.compression]
	if name == "" {
		return fmt.Sprintf("compression %d", p.compression)
	}
	return fmt.Sprintf("%s compression (%d)", name, p.compression)
}

func (p *tiffPage) depthFeature() string {
	for _, format := range p.dir.values(tagSampleFormat, p.samples) {
		const unsigned, signed, undefined = 1, 2, 4
		// Pillow takes signed samples of 8 bits as they are.
		if ok := format == unsigned || format == undefined || format == signed && p.bits == 8; !ok {
			return fmt.Sprintf("samples of %d bits that are not unsigned whole numbers", p.bits)
		}
	}
	switch p.bits {
	case 8:
		return ""
	case 16:
		if p.photometric != tiffPalette {
			return ""
		}
	case 1, 2, 4:
		if p.samples == 1 && p.photometric != tiffYCbCr {
			return ""
		}
		return fmt.Sprintf("%d samples of %d bits per pixel", p.samples, p.bits)
	}
	return fmt.Sprintf("%d bits per sample", p.bits)
}

// jpegFeature is about JPEG data, and colors that come with them only.
func (p *tiffPage) jpegFeature() string {
	switch {
	case p.compression != tiffJPEG && p.photometric == tiffYCbCr:
		return "YCbCr colors without JPEG compression"
	case p.compression != tiffJPEG:
		return ""
	case p.photometric == tiffCMYK:
		return "CMYK colors in JPEG compression"
	case p.photometric == tiffPalette:
		return "a palette in JPEG compression"
	case p.photometric == tiffYCbCr && p.apart:
		return "YCbCr colors in planes of their own"
	case p.bits != 8 || p.samples != p.colors:
		return fmt.Sprintf("%d samples of %d bits in JPEG compression", p.samples, p.bits)
	}
	return ""
}

// predicts tells whether the compression is one that a predictor goes with.
func (p *tiffPage) predicts() bool {
	return p.compression == tiffLZW || p.compression == tiffDeflate || p.compression == tiffOldDeflate
}

func (p *tiffPage) predictorFeature() string {
	switch {
	case !p.predicts() || p.predictor <= 1:
		return ""
	case p.predictor == 3:
		return "the predictor of floating-point samples (3)"
	case p.predictor != 2:
		return fmt.Sprintf("predictor %d", p.predictor)
	case p.bits < 8:
		return fmt.Sprintf("a predictor of %d bits per sample", p.bits)
	}
	return ""
}
