package normalize

import (
	"cmp"
	_ "embed" // the table
	"math"
	"slices"
	"strconv"
	"strings"
)

// numberingAreas lists the areas that area codes serve, one per line: the country, the degrees north and east
// of the approximate middle of the populated area, and the area codes, the oldest first. A code that serves
// several areas has a line for each.
//
// Which codes share an area is taken from the announcements of NANPA (nanpa.com, Area Code Relief Planning)
// and the Canadian Numbering Administrator (cnac.ca). The places are the averages of the Area Code
// Geolocation Database, "free to use for any purpose (commercial or not)"
// (github.com/ravisorg/Area-Code-Geolocation-Database), rounded to a tenth of a degree. If the database has
// no place or one that is far off (231, 276, 321, 606, 906, 907, Canada and the islands), the place is that
// of the largest city.
//
//go:embed areas.txt
var numberingAreas string

const (
	mostNeighbours = 8
	farthest       = 400 // kilometres between areas that count as near
)

// NeighbouringAreaCodes returns the area codes to try if code has no numbers, at most eight, the nearest
// first: those that serve the same area, then those of other areas by distance. All are of the same country.
// The result is empty for an unassigned code, and for one without near area codes in its country.
func NeighbouringAreaCodes(code string) []string {
	var own, others []area
	for line := range strings.Lines(numberingAreas) {
		if a := readArea(line); slices.Contains(a.codes, code) {
			own = append(own, a)
		} else {
			others = append(others, a)
		}
	}
	if own == nil {
		return nil
	}
	near := slices.Clone(own)
	for _, a := range others {
		if a.country == own[0].country && a.from(own) <= farthest {
			near = append(near, a)
		}
	}
	slices.SortStableFunc(near[len(own):], func(a, b area) int { return cmp.Compare(a.from(own), b.from(own)) })
	var codes []string
	for _, a := range near {
		for _, c := range a.codes {
			if c != code && !slices.Contains(codes, c) && len(codes) < mostNeighbours {
				codes = append(codes, c)
			}
		}
	}
	return codes
}

// area is a line of numberingAreas.
type area struct {
	country     string
	north, east float64 // degrees
	codes       []string
}

func readArea(line string) area {
	words := strings.Fields(line)
	north, _ := strconv.ParseFloat(words[1], 64) // the embedded table is tested
	east, _ := strconv.ParseFloat(words[2], 64)
	return area{words[0], north, east, words[3:]}
}

// from returns the distance in kilometres to the nearest of the given areas.
func (a area) from(areas []area) float64 {
	nearest := math.Inf(1)
	for _, b := range areas {
		nearest = min(nearest, kilometres(a, b))
	}
	return nearest
}

// kilometres returns the distance on a sphere, by the haversine formula.
func kilometres(a, b area) float64 {
	const diameter, radian = 12742, math.Pi / 180
	square := func(x float64) float64 { return x * x }
	h := square(math.Sin((b.north-a.north)*radian/2)) +
		math.Cos(a.north*radian)*math.Cos(b.north*radian)*square(math.Sin((b.east-a.east)*radian/2))
	return diameter * math.Asin(math.Sqrt(h))
}
