package preprocess

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/services/preprocess/decode"
)

// newProfiles makes what turns colors into sRGB for the models that want it, and
// counts how often that could be done.
func newProfiles(registry prometheus.Registerer) (*decode.Profiles, error) {
	const remembered = 16 // few cameras and screens make most pictures
	p := decode.NewProfiles(remembered)
	return p, errors.Join(
		registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "triptych_image_profiles_converted_total", Help: "Images whose colors were turned into sRGB by the profile that they hold.",
		}, func() float64 { return float64(p.Converted()) })),
		registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "triptych_image_broken_profiles_total", Help: "Images whose color profile is broken, too large or not about RGB; their colors stayed as they were.",
		}, func() float64 { return float64(p.Broken()) })),
	)
}
