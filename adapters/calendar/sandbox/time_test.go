package sandbox

import "testing"

// A list needs the zone of each of its calendars.
func TestAZoneIsReadOnce(t *testing.T) {
	first, err := loadZone("Europe/Berlin")
	again, errAgain := loadZone("Europe/Berlin")
	if err != nil || errAgain != nil || first != again {
		t.Errorf("read %p, then %p; %v, %v", first, again, err, errAgain)
	}
	for _, name := range []string{"", "Local", "No/Where"} {
		if zone, err := loadZone(name); err == nil {
			t.Errorf("%q is %v", name, zone)
		}
	}
}
