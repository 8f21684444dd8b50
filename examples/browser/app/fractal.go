//go:build js

package main

import "math"

const (
	width, height = 576, 384 // of the picture, in pixels
	side          = 12       // of a tile, in pixels

	// What of the plane the picture shows.
	middleX, middleY = -0.745428, 0.113009
	pixel            = 0.0001 / width

	samples       = 3    // a pixel is the mean of samples × samples points
	minIterations = 95   // of the points shown
	maxIterations = 1000 // of a point that does not escape
)

// A tile is a square of the picture, given by its upper left corner.
type tile struct{ x, y int }

// distance returns how far t is from the middle of the picture, squared.
func (t tile) distance() int {
	dx, dy := t.x+side/2-width/2, t.y+side/2-height/2
	return dx*dx + dy*dy
}

// draw returns the pixels of t, as JavaScript's ImageData has them.
func (t tile) draw() []byte {
	pixels := make([]byte, 0, side*side*4)
	for y := t.y; y < t.y+side; y++ {
		for x := t.x; x < t.x+side; x++ {
			var sum [3]float64
			for i := range samples * samples {
				dx, dy := float64(i%samples)/samples, float64(i/samples)/samples
				c := shade(escape(
					middleX+(float64(x)+dx-width/2)*pixel,
					middleY-(float64(y)+dy-height/2)*pixel,
				))
				for i := range sum {
					sum[i] += c[i]
				}
			}
			for _, s := range sum {
				pixels = append(pixels, byte(255*s/(samples*samples)))
			}
			pixels = append(pixels, 255)
		}
	}
	return pixels
}

// escape returns after how many iterations a point leaves the circle, with a
// fraction so that there are no steps between colors, or maxIterations.
func escape(x, y float64) float64 {
	const radius = 64
	var a, b float64
	for n := range maxIterations {
		aa, bb := a*a, b*b
		if aa+bb > radius*radius {
			return float64(n) + 1 - math.Log2(math.Log(aa+bb)/(2*math.Log(radius)))
		}
		a, b = aa-bb+x, 2*a*b+y
	}
	return maxIterations
}

// ramp are the colors from the points that escape first to those that do not.
var ramp = [...][3]float64{
	{0.07, 0.08, 0.23}, {0.22, 0.27, 0.71}, {0.45, 0.72, 0.98}, {1, 0.96, 0.84}, {0.98, 0.66, 0.27}, {0.55, 0.16, 0.22},
}

// shade returns the color of a point: red, green and blue from 0 to 1.
func shade(iterations float64) [3]float64 {
	at := math.Log(max(1, iterations/minIterations)) / math.Log(maxIterations/minIterations)
	at *= float64(len(ramp) - 1)
	i := min(int(at), len(ramp)-2)
	var c [3]float64
	for k := range c {
		c[k] = ramp[i][k] + (ramp[i+1][k]-ramp[i][k])*(at-float64(i))
	}
	return c
}
