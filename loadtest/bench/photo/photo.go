// Package photo makes pictures that are like photographs to a decoder: smooth
// light, edges, texture of all sizes and the grain of a sensor, always the same
// for the same seed. What they show means nothing.
package photo

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"runtime"
	"sync"
)

// Quality is that of the JPEG files, whose chroma is at half the resolution.
const Quality = 90

// JPEG is a photograph as a file. Grain is how strong the sensor's noise is, in
// levels: the more there is of it, the larger is the file.
func JPEG(width, height int, seed uint32, grain float32) ([]byte, error) {
	var out bytes.Buffer
	if err := jpeg.Encode(&out, draw(newScene(width, height, seed, grain)), &jpeg.Options{Quality: Quality}); err != nil {
		return nil, fmt.Errorf("make a photograph: %w", err)
	}
	return out.Bytes(), nil
}

// draw makes the pixels, on all cores.
func draw(s *scene) *image.RGBA {
	width, height := int(s.width), int(s.height)
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for y := w; y < height; y += workers {
				for x := range width {
					s.pixel(x, y, img.Pix[img.PixOffset(x, y):])
				}
			}
		})
	}
	wg.Wait()
	return img
}

// The texture: from waves of half the width to the finest that pixels show, each
// weaker than the one before by falloff, as in natural pictures.
const (
	contrast = 90
	falloff  = 0.84
	finest   = 2.0
	things   = 24
)

// scene is what a picture shows.
type scene struct {
	width, height float32
	seed          uint32
	grain         float32
	discs         []disc
}

// disc is a thing with an edge, shaded from one side to the other.
type disc struct{ x, y, radius, light, red, blue float32 }

func newScene(width, height int, seed uint32, grain float32) *scene {
	s := &scene{width: float32(width), height: float32(height), seed: seed, grain: grain}
	for i := range uint32(things) {
		at := func(n uint32) float32 { return random(i, n, seed) }
		s.discs = append(s.discs, disc{
			x: at(0) * s.width, y: at(1) * s.height, radius: (0.02 + 0.12*at(2)) * s.width,
			light: 160 * (at(3) - 0.5), red: 80 * (at(4) - 0.5), blue: 80 * (at(5) - 0.5),
		})
	}
	return s
}

// pixel writes one pixel of RGBA.
func (s *scene) pixel(x, y int, out []byte) {
	fx, fy := float32(x), float32(y)
	light := 128 + 60*(0.5-fy/s.height) + s.texture(fx, fy)
	red := 50 * (s.noise(fx, fy, s.width/3, 101) - 0.5)
	blue := 50 * (s.noise(fx, fy, s.width/5, 102) - 0.5)
	for _, d := range s.discs {
		dx, dy := (fx-d.x)/d.radius, (fy-d.y)/d.radius
		if dx*dx+dy*dy < 1 {
			light += d.light * (1 + 0.5*dx)
			red, blue = d.red, d.blue
		}
	}
	light += s.grain * (random(uint32(x), uint32(y), s.seed+7) - 0.5) * 2
	out[0], out[1], out[2], out[3] = sample(light+red), sample(light-0.4*red-0.2*blue), sample(light+blue), math.MaxUint8
}

// texture is rough in some places and smooth in others.
func (s *scene) texture(x, y float32) float32 {
	rough := 0.3 + 1.4*s.noise(x, y, s.width/4, 100)
	sum, weight := float32(0), float32(contrast)
	octave := uint32(0)
	for wave := s.width / 2; wave >= finest; wave /= 2 {
		sum += weight * (s.noise(x, y, wave, octave) - 0.5)
		weight *= falloff
		octave++
	}
	return sum * rough
}

// noise is from 0 to 1 and has waves of about the given length.
func (s *scene) noise(x, y, wave float32, octave uint32) float32 {
	x, y = x/wave, y/wave
	left, top := uint32(x), uint32(y)
	fx, fy := smooth(x-float32(left)), smooth(y-float32(top))
	seed := s.seed + 1000*octave
	upper := mix(random(left, top, seed), random(left+1, top, seed), fx)
	lower := mix(random(left, top+1, seed), random(left+1, top+1, seed), fx)
	return mix(upper, lower, fy)
}

func smooth(v float32) float32 { return v * v * (3 - 2*v) }

func mix(a, b, part float32) float32 { return a + (b-a)*part }

// random is a number from 0 to 1 that belongs to a place.
func random(x, y, seed uint32) float32 {
	h := x*0x9E3779B1 ^ y*0x85EBCA77 ^ seed*0xC2B2AE3D
	h ^= h >> 15
	h *= 0x2C1B3C6D
	h ^= h >> 12
	h *= 0x297A2D39
	h ^= h >> 15
	return float32(h>>8) / (1 << 24)
}

func sample(v float32) byte { return byte(min(max(v, 0), math.MaxUint8)) }
