package service

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/connection"
	"frontdesk/core/parallel"
	"frontdesk/core/singleflight"
)

// How long the list of an account's calendars, with their zones and the default one, is used after it was read.
const (
	askAfter      = 5 * time.Minute  // from then on, a use has it read again in the background
	sureFor       = time.Hour        // from then on, it is only a guess, which an answer waits to be confirmed
	askAgainAfter = 30 * time.Second // between two attempts to read it in the background

	storedWithin = 500 * time.Millisecond // how long a call waits for the store's copy before it asks the provider
)

// keptDocument is the key under which a connection's documents hold the list, for all replicas and through
// restarts. Sandboxes, whose documents are their own, do not keep it.
const keptDocument = "gateway/calendars"

// keptList is what the provider said of an account's calendars.
type keptList struct {
	At        time.Time      `json:"at"`
	Revision  int64          `json:"revision"` // of the connection; another one may be another account
	Calendars []keptCalendar `json:"calendars"`
}

// keptCalendar is a calendar.Calendar in the form of the document.
type keptCalendar struct {
	ID        string `json:"id"`
	Alias     string `json:"alias,omitempty"`
	Name      string `json:"name,omitempty"`
	Zone      string `json:"zone,omitempty"`
	IsDefault bool   `json:"default,omitempty"`
	ReadOnly  bool   `json:"read_only,omitempty"`
}

func (l keptList) list() []calendar.Calendar {
	all := make([]calendar.Calendar, len(l.Calendars))
	for i, c := range l.Calendars {
		all[i] = calendar.Calendar(c)
	}
	return all
}

// keptCalendars keeps the lists of accounts' calendars in memory and in the store. Its size in memory is bounded.
type keptCalendars struct {
	background *singleflight.Group

	mu     sync.Mutex
	memory map[string]keptEntry // by connection id
}

type keptEntry struct {
	keptList
	asked time.Time // when it was last to be read in the background
	wrong time.Time // lists that were read until then are not used
}

func newKeptCalendars() *keptCalendars {
	return &keptCalendars{background: singleflight.NewGroup(), memory: map[string]keptEntry{}}
}

// get returns the list in memory; its At is zero if there is none for the connection's revision.
func (k *keptCalendars) get(of connection.Connection) keptList {
	k.mu.Lock()
	defer k.mu.Unlock()
	if there := k.memory[of.ID]; there.Revision == of.Revision {
		return there.keptList
	}
	return keptList{}
}

// put keeps a list in memory, unless it has a later one.
func (k *keptCalendars) put(of connection.Connection, l keptList) {
	k.mu.Lock()
	defer k.mu.Unlock()
	there, ok := k.memory[of.ID]
	if ok && (there.Revision > l.Revision || there.Revision == l.Revision && there.At.After(l.At) ||
		!l.At.After(there.wrong)) {
		return
	}
	if !ok && len(k.memory) >= cacheEntries {
		for old := range k.memory { // any entry will do
			delete(k.memory, old)
			break
		}
	}
	k.memory[of.ID] = keptEntry{keptList: l, asked: there.asked, wrong: there.wrong}
}

// mayAsk reports whether the list may be read in the background now, and counts it as read.
func (k *keptCalendars) mayAsk(of connection.Connection, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	there, ok := k.memory[of.ID]
	if !ok || now.Sub(there.asked) < askAgainAfter {
		return false
	}
	there.asked = now
	k.memory[of.ID] = there
	return true
}

// distrust ends the use of a list that is due to be read again, here and as the store has it. A later one counts:
// callers who ask for what does not exist must not make every call ask for the list.
func (k *keptCalendars) distrust(of connection.Connection, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if there, ok := k.memory[of.ID]; ok && now.Sub(there.At) >= askAfter {
		k.memory[of.ID] = keptEntry{wrong: now}
	}
}

// known returns the list that is kept, from memory or else from the store. sure reports whether it is recent
// enough to be relied on. If it is not the latest, known has it read again in the background.
func (c calendarClient) known(ctx context.Context) (l keptList, sure bool) {
	now := c.opts.Now()
	age := func() time.Duration { return now.Sub(l.At) }
	if l = c.kept.get(c.connection); age() >= askAfter {
		if stored := c.stored(ctx); stored.At.After(l.At) {
			c.kept.put(c.connection, stored)
			l = c.kept.get(c.connection)
		}
	}
	// A list from the future is from a replica whose clock is ahead, and would be used for too long.
	if sure = age() < sureFor && age() > -askAfter; sure && age() >= askAfter && c.kept.mayAsk(c.connection, now) {
		singleflight.Start(c.kept.background, c.connection.ID, func(ctx context.Context) (struct{}, error) {
			_, err := c.readCalendars(ctx)
			return struct{}{}, err
		})
	}
	return l, sure
}

// stored returns the list that the store has for this revision of the connection. A list that cannot be read is
// none: the provider is asked.
func (c calendarClient) stored(ctx context.Context) (l keptList) {
	if c.sandbox {
		return l
	}
	ctx, cancel := context.WithTimeout(ctx, storedWithin)
	defer cancel()
	err := c.opts.Store.Documents(c.connection.ID).View(ctx, func(tx adapter.StorageTx) error {
		var err error
		l, err = listIn(tx)
		return err
	})
	if err != nil || l.Revision != c.connection.Revision {
		return keptList{}
	}
	return l
}

// listIn returns the stored list. Its At is zero if there is none, or none that can be read.
func listIn(tx adapter.StorageTx) (l keptList, err error) {
	raw, err := tx.Get(keptDocument)
	if err == nil && raw != nil && json.Unmarshal(raw, &l) != nil {
		l = keptList{}
	}
	return l, err
}

// save stores a list for other replicas and for later. Nobody waits for it, and a failure only costs requests.
func (c calendarClient) save(l keptList) {
	if c.sandbox {
		return
	}
	singleflight.Start(c.kept.background, "save "+c.connection.ID, func(ctx context.Context) (struct{}, error) {
		err := c.opts.Store.Documents(c.connection.ID).Update(ctx, func(tx adapter.StorageTx) error {
			there, err := listIn(tx)
			if err != nil || there.Revision > l.Revision || there.Revision == l.Revision && !there.At.Before(l.At) {
				return err
			}
			raw, err := json.Marshal(l)
			if err != nil {
				return err
			}
			return tx.Put(keptDocument, raw)
		})
		if err != nil {
			c.opts.Log.WarnContext(ctx, "the list of calendars could not be stored",
				"connection", c.connection.ID, "error", err)
		}
		return struct{}{}, err
	})
}

// readCalendars asks the provider for the account's calendars and keeps the answer.
func (c calendarClient) readCalendars(ctx context.Context) ([]calendar.Calendar, error) {
	at := c.opts.Now()
	all, err := ask(ctx, c.endpoint, read("list-calendars"), c.driver.Calendars)
	if err != nil {
		return nil, err
	}
	l := keptList{At: at, Revision: c.connection.Revision, Calendars: make([]keptCalendar, len(all))}
	for i, each := range all {
		l.Calendars[i] = keptCalendar(each)
	}
	before := c.kept.get(c.connection)
	c.kept.put(c.connection, l)
	if at.Sub(before.At) >= askAfter || !slices.Equal(before.Calendars, l.Calendars) {
		c.save(l)
	}
	return all, nil
}

// calendarMissing is called after the provider denied that a calendar exists: the default one may be another by
// now.
func (c calendarClient) calendarMissing() { c.kept.distrust(c.connection, c.opts.Now()) }

// view is the account's calendars as one call sees them while they may be a guess. It notes what the call learned.
type view struct {
	calendars []calendar.Calendar
	nothing   bool // no list is known at all

	mu   sync.Mutex
	told map[string]calendar.Calendar // by the id that was looked up
}

// find returns the calendar with an id, as it is guessed to be.
func (v *view) find(id string) (calendar.Calendar, error) {
	cal, err := calendar.Calendar{ID: id}, error(nil)
	if !v.nothing {
		cal, err = findIn(v.calendars, id)
	}
	if err == nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.told[id] = cal
	}
	return cal, err
}

// holds reports whether what the call learned is so in the account's list.
func (v *view) holds(c calendarClient, all []calendar.Calendar) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, was := range v.told {
		is, err := findIn(all, id)
		if err != nil || c.zoneName(is) != c.zoneName(was) || cmp.Or(was.ID, is.ID) != is.ID {
			return false
		}
	}
	return true
}

// zoneName returns the name of the zone in which a calendar's times are read.
func (c calendarClient) zoneName(cal calendar.Calendar) string {
	zone, err := c.zoneOf(cal)
	if err != nil {
		return ""
	}
	return zone.String()
}

// withCalendars runs a read that needs the account's calendars. If the list is not known for sure, the provider is
// asked for it while the read goes by what is known or, failing that, by the tenant's zone. If that turns out
// to be wrong, the read is made anew. So a first call takes as long as the next. The client that is returned
// has the list. The read must have no effect, since it may run twice.
func withCalendars[T any](
	ctx context.Context, c calendarClient, read func(context.Context, calendarClient) (T, error),
) (T, calendarClient, error) {
	known, sure := c.known(ctx)
	if sure {
		c.view = newView(known)
		got, err := read(ctx, c)
		return got, c, err
	}
	guessing, cancel := context.WithCancel(ctx)
	defer cancel()
	var all []calendar.Calendar
	asking := parallel.New()
	asking.Go(func() (err error) {
		if all, err = c.readCalendars(ctx); err != nil {
			cancel()
		}
		return err
	})
	guess := c
	guess.view = newView(known)
	got, err := read(guessing, guess)
	if failed := asking.Wait(); failed != nil {
		var none T
		return none, c, failed
	}
	c.view = &view{calendars: all, told: map[string]calendar.Calendar{}}
	if !guess.view.holds(c, all) {
		got, err = read(ctx, c)
	}
	return got, c, err
}

func newView(l keptList) *view {
	return &view{calendars: l.list(), nothing: l.At.IsZero(), told: map[string]calendar.Calendar{}}
}
