package timezone

import (
	"sync"
	"time"
	_ "time/tzdata" // so that a zone is found on a machine without time-zone data, such as an empty container
)

// Load is time.LoadLocation by the latest rules, see [read]. It reads each zone that [ToWindows] knows once per
// process: a list has zones with every event, and reading one takes twenty times as long as anything else that a list
// needs of it. So a process knows the rules of its start, as it does of the compiled-in copy. What else
// time.LoadLocation accepts, such as paths, has no bound, and is not kept.
func Load(name string) (*time.Location, error) {
	if load, known := zones()[name]; known {
		return load()
	}
	return read(name)
}

// zones returns a function for each name, which reads the zone the first time.
var zones = sync.OnceValue(func() map[string]func() (*time.Location, error) {
	all := make(map[string]func() (*time.Location, error), len(tables().windows))
	for name := range tables().windows {
		all[name] = sync.OnceValues(func() (*time.Location, error) { return read(name) })
	}
	return all
})
