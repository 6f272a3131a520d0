package normalize

import (
	_ "embed"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // so that a zone is found on a machine without time-zone data, such as an empty container
)

// zoneNames are the names of the time-zone database of the Go release, backward links included, one per line and
// sorted. "Factory" is left out: it stands for a zone that nobody set.
//
//go:embed zones.txt
var zoneNames string

const longestZoneName = 64

// LoadZone answers the zone of an IANA name, spelled as the time-zone database spells it (RFC 6557, RFC 9557 section
// 3.2). Whatever else time.LoadLocation takes is refused: "" and "Local", which mean the machine's own zone, paths,
// and names in other case. The error names the zones that were probably meant.
func LoadZone(name string) (*time.Location, error) {
	if isZoneName(name) {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	if offsetLike.MatchString(name) {
		return nil, refusal("must be an IANA time zone name, such as America/New_York, not an offset: an offset does not say when clocks change")
	}
	switch meant := suggestZones(name); len(meant) {
	case 0:
		return nil, refusal("must be an IANA time zone name, such as America/New_York or Europe/Berlin")
	case 1:
		return nil, refusal("must be an IANA time zone name, such as " + meant[0])
	default:
		last := len(meant) - 1
		return nil, refusal("must be an IANA time zone name, such as " + strings.Join(meant[:last], ", ") + " or " + meant[last])
	}
}

var offsetLike = regexp.MustCompile(`^(?i:UTC|GMT|Z)?\s*[+-]\s*\d{1,2}(:?\d{2})?$`)

func isZoneName(name string) bool {
	return name != "" && len(name) <= longestZoneName && !strings.Contains(name, "\n") &&
		(strings.HasPrefix(zoneNames, name+"\n") || strings.Contains(zoneNames, "\n"+name+"\n"))
}

// suggestZones answers up to three names that may have been meant, the likeliest first.
func suggestZones(name string) []string {
	key := zoneKey(name)
	if key == "" || len(name) > longestZoneName {
		return nil
	}
	if meant := spokenZone(key); meant != nil {
		return meant
	}
	names := strings.Fields(zoneNames)
	city := key[strings.LastIndexByte(key, '/')+1:]
	var cities []string
	for _, known := range names {
		k := zoneKey(known)
		if k == key {
			return []string{known}
		}
		if strings.HasSuffix(k, "/"+city) && len(cities) < 3 {
			cities = append(cities, known)
		}
	}
	if len(cities) > 0 {
		return cities
	}
	if known := Nearest(name, names); known != "" {
		return []string{known}
	}
	for _, known := range names {
		k := zoneKey(known)
		if slash := strings.LastIndexByte(k, '/'); slash >= 0 && len(cities) < 3 && near(city, k[slash+1:]) {
			cities = append(cities, known)
		}
	}
	return cities
}

// zoneKey is a name as people vary it: in letter case, and with spaces or hyphens for the underscore.
func zoneKey(name string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(name)))
}

// spokenZone knows what people call the zones that they name most, in English and in Windows' words.
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
