// Package chart draws the few kinds of chart that the READMEs show, as SVG.
package chart

import (
	"errors"
	"image/color"
	"math"
	"os"
	"slices"

	"github.com/dustin/go-humanize"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Series is one line or one color of bars.
type Series struct {
	Name string
	X, Y []float64
}

// Add appends a point; one that is not a number is left out.
func (s *Series) Add(x, y float64) {
	if !math.IsNaN(y) {
		s.X, s.Y = append(s.X, x), append(s.Y, y)
	}
}

// commas writes the labels of other ticks in full, with thousands separators.
type commas struct{ plot.Ticker }

func (c commas) Ticks(low, high float64) []plot.Tick {
	ticks := c.Ticker.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = humanize.Commaf(ticks[i].Value)
		}
	}
	return ticks
}

func newPlot(title string) *plot.Plot {
	p := plot.New()
	for _, s := range []*draw.TextStyle{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		s.Font.Variant, s.Font.Size = "Sans", 10
	}
	p.Title.Text, p.Title.TextStyle.Font.Size, p.Title.Padding = title, 13, 10
	p.X.Tick.Marker, p.Y.Tick.Marker = commas{plot.DefaultTicks{}}, commas{plot.DefaultTicks{}}
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, 3
	return p
}

func save(p *plot.Plot, width vg.Length, path string) error {
	const height, margin = 360, 10
	svg := vgsvg.New(width, height)
	c := draw.New(svg)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	p.Draw(draw.Crop(c, margin, -2*margin, margin, -margin))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = svg.WriteTo(f)
	return errors.Join(err, f.Close())
}

// Lines draws the series, over logarithmic axes if log is set, and nothing if
// none has a point.
func Lines(path, title, x, y string, log bool, series []Series) error {
	series = slices.DeleteFunc(series, func(s Series) bool { return len(s.X) == 0 })
	if len(series) == 0 {
		return nil
	}
	p := newPlot(title)
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.Add(plotter.NewGrid())
	for i, s := range series {
		points := make(plotter.XYs, len(s.X))
		for j := range points {
			points[j] = plotter.XY{X: s.X[j], Y: s.Y[j]}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, line.Width, line.Dashes = plotutil.Color(i), vg.Points(1.5), plotutil.Dashes(i)
		p.Add(line)
		p.Legend.Add(s.Name, line)
	}
	// With room for the legend at the top.
	if log {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, commas{plot.LogTicks{Prec: -1}}
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, commas{plot.LogTicks{Prec: -1}}
		p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(p.Y.Min))), math.Pow(10, 1+math.Ceil(math.Log10(p.Y.Max)))
	} else {
		p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 1.2*p.Y.Max
	}
	return save(p, 640, path)
}

// Bars draws for each name a bar of every series, side by side.
func Bars(path, title, y string, names []string, series []Series) error {
	p := newPlot(title)
	p.Y.Label.Text = y
	p.NominalX(names...)
	const width = 14
	for i, s := range series {
		bars, err := plotter.NewBarChart(plotter.Values(s.Y), width)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = plotutil.Color(i), 0
		bars.Offset = width * vg.Length(float64(i)-float64(len(series)-1)/2)
		p.Add(bars)
		p.Legend.Add(s.Name, bars)
	}
	p.Y.Min = 0
	return save(p, vg.Length(len(names))*70+80, path)
}
