package timezone

import (
	"archive/zip"
	"bytes"
	_ "embed" // for the zones
	"io/fs"
	"os"
	"sync"
	"time"
)

// changed holds the zones whose clocks go otherwise by release 2026f of the IANA database than by the one that Go
// brings (2025c). Governments stop to set clocks a few weeks after they say so, and Go takes over two releases a
// year. From a later one it is made by
//
//	zic -b slim -d out tzdata.zi && cd out && zip -X -9 changed.zip NAME...
//
// The database is in the public domain (data.iana.org/time-zones).
//
//go:embed changed.zip
var changed []byte

// changedZones returns those zones by their names.
var changedZones = sync.OnceValue(func() map[string][]byte {
	all := map[string][]byte{}
	files, err := zip.NewReader(bytes.NewReader(changed), int64(len(changed)))
	if err != nil {
		panic("timezone: " + err.Error()) // the embedded file is tested
	}
	for _, file := range files.File {
		if all[file.Name], err = fs.ReadFile(files, file.Name); err != nil {
			panic("timezone: " + err.Error())
		}
	}
	return all
})

// read reads a zone by its latest rules. The operator may know later ones, in a database that ZONEINFO names, as for
// time.LoadLocation.
func read(name string) (*time.Location, error) {
	if data := changedZones()[name]; data != nil && os.Getenv("ZONEINFO") == "" {
		return time.LoadLocationFromTZData(name, data)
	}
	return time.LoadLocation(name)
}
