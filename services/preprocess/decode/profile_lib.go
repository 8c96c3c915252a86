//go:build cgo && !portable

package decode

/*
#cgo pkg-config: lcms2
#include <lcms2.h>

struct triptych_profile {
	cmsContext context;
	cmsHTRANSFORM transform;
};

static void triptych_profile_close(struct triptych_profile *p)
{
	if (p->transform != NULL)
		cmsDeleteTransform(p->transform);
	if (p->context != NULL)
		cmsDeleteContext(p->context);
	p->transform = NULL;
	p->context = NULL;
}

// Nothing is shared with other profiles, so that they can be used in any thread.
static int triptych_profile_open(struct triptych_profile *p, const void *data, unsigned int size)
{
	cmsHPROFILE from = NULL, to = NULL;

	p->transform = NULL;
	p->context = cmsCreateContext(NULL, NULL);
	if (p->context == NULL)
		return 0;
	from = cmsOpenProfileFromMemTHR(p->context, data, size);
	to = cmsCreate_sRGBProfileTHR(p->context);
	if (from != NULL && to != NULL && cmsGetColorSpace(from) == cmsSigRgbData &&
	    cmsGetDeviceClass(from) != cmsSigLinkClass)
		p->transform = cmsCreateTransformTHR(p->context, from, TYPE_RGB_8, to, TYPE_RGB_8,
		                                     INTENT_PERCEPTUAL, 0);
	if (from != NULL)
		cmsCloseProfile(from);
	if (to != NULL)
		cmsCloseProfile(to);
	if (p->transform == NULL)
		triptych_profile_close(p);
	return p->transform != NULL;
}

static void triptych_profile_convert(cmsHTRANSFORM transform, unsigned char *pixels, unsigned int count)
{
	cmsDoTransform(transform, pixels, pixels, count);
}
*/
import "C"

import (
	"unsafe"

	"triptych/services/preprocess/pixels"
)

// ColorProfiles tells whether this build can turn embedded color profiles into
// sRGB.
const ColorProfiles = true

// toSRGB turns the colors of a profile into sRGB, by Little CMS.
type toSRGB struct{ c C.struct_triptych_profile }

// open tells whether the profile can be used. What it opens is freed by free.
func (t *toSRGB) open(profile []byte) bool {
	c := &t.c
	return C.triptych_profile_open(c, unsafe.Pointer(unsafe.SliceData(profile)), C.uint(len(profile))) != 0
}

// convert converts pixels in place. It may run in several threads.
func (t *toSRGB) convert(pix []byte) {
	C.triptych_profile_convert(t.c.transform, (*C.uchar)(unsafe.SliceData(pix)), C.uint(len(pix)/pixels.Samples))
}

func (t *toSRGB) free() {
	c := &t.c
	C.triptych_profile_close(c)
}
