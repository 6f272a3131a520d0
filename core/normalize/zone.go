package normalize

import (
	"cmp"
	_ "embed" // for the list of names
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"frontdesk/core/spelling"
	"frontdesk/core/timezone"
)

// zoneNames are the names of the time-zone database of the Go release, backward links included, one per line
// and sorted. "Factory" is left out: it stands for a zone that was never set.
//
//go:embed zones.txt
var zoneNames string

const longestZoneName = 64

// LoadZone returns the zone with an IANA name, spelled as the time-zone database spells it (RFC 6557, RFC
// 9557 section 4.1). It refuses everything else that time.LoadLocation accepts: "" and "Local", which mean
// UTC and the machine's own zone, paths, and names in other case. The error names the zones that were
// probably meant. A zone is read once per process: see [timezone.Load].
func LoadZone(name string) (*time.Location, error) {
	if knownZones()[name] {
		if zone, err := timezone.Load(name); err == nil {
			return zone, nil
		}
	}
	if offsetLike.MatchString(name) {
		return nil, refusal(
			"must be an IANA time zone name, such as America/New_York, not an offset: an offset does not say when " +
				"clocks change")
	}
	meant := suggestZones(name)
	if len(meant) == 0 {
		return nil, refusal("must be an IANA time zone name, such as America/New_York or Europe/Berlin")
	}
	return nil, refusal("must be an IANA time zone name; did you mean " + strings.Join(meant, " or ") + "?")
}

// knownZones returns the set of zoneNames.
var knownZones = sync.OnceValue(func() map[string]bool {
	all := make(map[string]bool, strings.Count(zoneNames, "\n"))
	for name := range strings.Lines(zoneNames) {
		all[strings.TrimSuffix(name, "\n")] = true
	}
	return all
})

var offsetLike = regexp.MustCompile(`^(?i:UTC|GMT|Z)?\s*[+-]\s*\d{1,2}(:?\d{2})?$`)

// mostSuggestions is the maximum number of names that an error suggests.
const mostSuggestions = 3

// suggestZones returns the names that may have been meant, the likeliest first. It compares the last part,
// the city, without regard to case, and with spaces or hyphens treated as underscores. One letter of four may
// be wrong, counting those of the region. A correct city matches with any region: there is no US/New_York.
func suggestZones(name string) []string {
	key := zoneKey(name)
	if key == "" || len(name) > longestZoneName {
		return nil
	}
	if meant := spokenZone(key); meant != nil {
		return meant
	}
	type candidate struct {
		name string
		cost int
	}
	var near []candidate
	region, city := splitZone(key)
	for known := range strings.Lines(zoneNames) {
		known = strings.TrimSuffix(known, "\n")
		knownRegion, knownCity := splitZone(zoneKey(known))
		cityDistance, regionDistance := spelling.Distance(city, knownCity), 0
		if region != "" {
			regionDistance = spelling.Distance(region, knownRegion)
		}
		if cityDistance == 0 || cityDistance+regionDistance <= max(1, len(city)/4) {
			near = append(near, candidate{known, cityDistance*longestZoneName + regionDistance})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	var names []string
	for _, c := range near {
		if len(names) < mostSuggestions && (len(names) == 0 || c.cost == near[0].cost) {
			names = append(names, c.name)
		}
	}
	return names
}

func splitZone(key string) (region, city string) {
	slash := strings.LastIndexByte(key, '/')
	return key[:max(slash, 0)], key[slash+1:]
}

// zoneKey returns a name in the form by which names are compared: in lower case, and with underscores for
// spaces and hyphens.
func zoneKey(name string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(name)))
}

// spokenZone returns the zones for common names of time zones, in English and as Windows names them.
func spokenZone(key string) []string {
	key = strings.TrimSuffix(key, "_zone")
	key = strings.TrimSuffix(key, "_time")
	key = strings.TrimSuffix(strings.TrimSuffix(key, "_standard"), "_daylight")
	switch key {
	case "eastern", "us_eastern", "et", "est", "edt":
		return []string{"America/New_York"}
	case "central", "us_central", "ct", "cst", "cdt":
		return []string{"America/Chicago"}
	case "mountain", "us_mountain", "mt", "mst", "mdt":
		return []string{"America/Denver", "America/Phoenix"}
	case "pacific", "us_pacific", "pt", "pst", "pdt":
		return []string{"America/Los_Angeles"}
	case "alaska", "alaskan", "akst", "akdt":
		return []string{"America/Anchorage"}
	case "hawaii", "hawaiian", "hst":
		return []string{"Pacific/Honolulu"}
	case "atlantic", "ast", "adt":
		return []string{"America/Halifax"}
	case "newfoundland", "nst", "ndt":
		return []string{"America/St_Johns"}
	case "british_summer", "bst", "uk", "england":
		return []string{"Europe/London"}
	case "central_european", "central_european_summer", "w._europe", "cest", "germany":
		return []string{"Europe/Berlin", "Europe/Paris"}
	case "eastern_european", "eastern_european_summer", "eest":
		return []string{"Europe/Athens", "Europe/Helsinki"}
	case "india", "ist":
		return []string{"Asia/Kolkata"}
	case "china":
		return []string{"Asia/Shanghai"}
	case "tokyo", "jst":
		return []string{"Asia/Tokyo"}
	case "aus_eastern", "australian_eastern", "aest", "aedt":
		return []string{"Australia/Sydney", "Australia/Brisbane"}
	case "greenwich_mean", "coordinated_universal", "zulu", "utc", "gmt", "z":
		return []string{"UTC"}
	}
	return nil
}
