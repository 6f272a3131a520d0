package normalize

import (
	"cmp"
	_ "embed" // the table
	"math"
	"slices"
	"strconv"
	"strings"
)

// numberingAreas are the areas that area codes serve, one per line: the country, degrees north and east of
// about the middle of where people live in it, and the area codes, the oldest first. A code that serves
// several areas has a line for each.
//
// Which codes share an area is what NANPA (nanpa.com, Area Code Relief Planning) and the Canadian Numbering
// Administrator (cnac.ca) announced. The places are the averages of the Area Code Geolocation Database, "free
// to use for any purpose (commercial or not)" (github.com/ravisorg/Area-Code-Geolocation-Database), rounded
// to a tenth of a degree; where that has none or is far off (231, 276, 321, 606, 906, 907, Canada and the
// islands), the largest city's.
//
//go:embed areas.txt
var numberingAreas string

const (
	mostNeighbours = 8
	farthest       = 400 // kilometres between areas: what is farther is not near for anybody
)

// NeighbouringAreaCodes returns the area codes to try where one has no numbers, at most eight, the nearest
// first: those that serve the same area, then those of other areas by distance. All are of the same country.
// A code that is not assigned has none, and neither has one whose country or surroundings have no other.
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
	north, _ := strconv.ParseFloat(words[1], 64) // the table is ours, and tested
	east, _ := strconv.ParseFloat(words[2], 64)
	return area{words[0], north, east, words[3:]}
}

// from returns the distance to the nearest of some areas, in kilometres.
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
