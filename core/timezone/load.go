package timezone

import (
	"sync"
	"time"
	_ "time/tzdata" // so that a zone is found on a machine without time-zone data
)

// loaded returns the zones that were found, by name. There are no more than the database has.
var loaded = sync.OnceValue(func() *sync.Map { return new(sync.Map) })

// Load is time.LoadLocation, but reads each zone once per process. A list has zones with every event, and
// reading one opens a file.
func Load(name string) (*time.Location, error) {
	if zone, has := loaded().Load(name); has {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	first, _ := loaded().LoadOrStore(name, zone)
	return first.(*time.Location), nil
}
