package calendartest_test

import (
	"context"
	"errors"
	"strings"
	"sync"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// changing alters the argument of Change.
func changing(alter func(*Change)) func(harness) harness {
	return mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
		alter(&c)
		return d.Change(ctx, ref, c)
	}})
}

// replacing makes Change write the whole event, without the fields that are not given.
func replacing(fill func(*Change)) func(harness) harness {
	return mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
		fill(&c)
		return d.Change(ctx, ref, c)
	}})
}

// reading alters the result of Event.
func reading(alter func(*Event)) func(harness) harness {
	return mutate(mutation{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
		e, err := d.Event(ctx, ref)
		if err == nil {
			alter(&e)
		}
		return e, err
	}})
}

// missing returns an event even if there is none.
func missing(ctx context.Context, d full, ref EventRef) (Event, error) {
	e, err := d.Event(ctx, ref)
	if errors.Is(err, fault.NotFound) {
		return Event{ID: ref.ID, CalendarID: ref.CalendarID, Version: "1"}, nil
	}
	return e, err
}

func eventMutants() []mutantOf {
	const (
		read  = "an event is read as it was booked"
		data  = "an id is only data: it reaches nothing but an event of that calendar"
		found = "an event is found in its own calendar only"
		alone = "an event is found by its id alone, in its own calendar"
	)
	return []mutantOf{
		{Check: read, How: "no version", Mutate: reading(func(e *Event) { e.Version = "" })},
		{Check: read, How: "no description", Mutate: reading(func(e *Event) { e.Description = "" })},
		{Check: read, How: "no attendees", Mutate: reading(func(e *Event) { e.Attendees = nil })},
		{Check: read, How: "another end", Mutate: reading(func(e *Event) { e.End = e.Start })},
		{Check: read, How: "only what it booked itself", Mutate: func(h harness) harness {
			open := h.Open
			h.Open = func() calendar.Driver {
				booked := map[string]bool{}
				return &mutant{full: open().(full), mutation: mutation{
					book: func(ctx context.Context, d full, b Booking) (Event, error) {
						e, err := d.Book(ctx, b)
						booked[e.ID] = true
						return e, err
					},
					event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
						if !booked[ref.ID] {
							return Event{}, fault.New(fault.NotFound, fault.ReasonEventNotFound, "Unknown.")
						}
						return d.Event(ctx, ref)
					},
				}}
			}
			return h
		}},
		{Check: "reading an unknown event is EVENT_NOT_FOUND", How: "an empty event",
			Mutate: mutate(mutation{event: missing})},
		{Check: "reading an unknown event is EVENT_NOT_FOUND", How: "another reason",
			Mutate: mutate(mutation{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				e, err := d.Event(ctx, ref)
				if err != nil {
					err = fault.New(fault.NotFound, fault.ReasonNotFound, "No.")
				}
				return e, err
			}})},
		{Check: data, How: "reads the calendar itself",
			Mutate: mutate(mutation{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				if ref.ID == ".." {
					return Event{ID: "..", Version: "1"}, nil
				}
				return d.Event(ctx, ref)
			}})},
		{Check: data, How: "chokes on a percent sign",
			Mutate: mutate(mutation{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				if ref.ID == "%" {
					return Event{}, errors.New("invalid URL escape")
				}
				return d.Event(ctx, ref)
			}})},
		{Check: found, How: "looks everywhere",
			Mutate: mutate(mutation{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				e, err := d.Event(ctx, ref)
				if err != nil {
					ref.CalendarID = first
					return d.Event(ctx, ref)
				}
				return e, err
			}})},
		{Check: alone, How: "takes it for the default calendar's",
			Mutate: mutate(mutation{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				e, err := d.Event(ctx, ref)
				if ref.CalendarID == "" {
					e.CalendarID = first
				}
				return e, err
			}})},
		{Check: found, How: "cancels everywhere",
			Mutate: mutate(mutation{cancel: func(ctx context.Context, d full, ref EventRef) error {
				ref.CalendarID = first
				return d.Cancel(ctx, ref)
			}})},
	}
}

func changeMutants() []mutantOf {
	const (
		title          = "changing the title alone keeps the rest"
		description    = "changing the description alone keeps the rest"
		times          = "changing the times alone keeps the rest"
		attendees      = "changing the attendees alone keeps the rest"
		keepsAll       = "changing nothing keeps everything"
		zone           = "changed times are kept in the zone given with them"
		texts          = "changed texts are kept exactly"
		link           = "a change keeps the meeting link"
		answers        = "attendees who stay keep their answers"
		versions       = "every change has a new version"
		current        = "a change of the current version is made"
		stale          = "a change of a stale version is CHANGED_MEANWHILE and writes nothing"
		notOverwritten = "a change that someone else made at the provider is not overwritten"
		exactlyOne     = "of many changes at once of one version exactly one is made"
		unknown        = "changing an unknown event is EVENT_NOT_FOUND"
		gone           = "changing a cancelled event is EVENT_NOT_FOUND"
	)
	empty, nobodyInvited := "", []string{}
	noDescription := func(c *Change) {
		if c.Description == nil {
			c.Description = &empty
		}
	}
	noAttendees := func(c *Change) {
		if c.Attendees == nil {
			c.Attendees = &nobodyInvited
		}
	}
	unchecked := func(c *Change) { c.IfUnchanged = "" }
	losesLink := mutateAfresh(func() mutation {
		var mu sync.Mutex
		lost := map[string]bool{}
		return mutation{
			change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				mu.Lock()
				defer mu.Unlock()
				lost[ref.ID] = lost[ref.ID] || c.Description != nil
				return d.Change(ctx, ref, c)
			},
			everyEvent: func(e *Event) {
				if mu.TryLock() {
					defer mu.Unlock()
				}
				if lost[e.ID] {
					e.URL = ""
				}
			},
		}
	})
	return []mutantOf{
		{Check: title, How: "clears the description", Mutate: replacing(noDescription)},
		{Check: title, How: "clears the attendees", Mutate: replacing(noAttendees)},
		{Check: title, How: "does nothing", Mutate: changing(func(c *Change) { c.Title = nil })},
		{Check: title, How: "answers the event before",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				before, err := d.Event(ctx, ref)
				if err == nil {
					_, err = d.Change(ctx, ref, c)
				}
				return before, err
			}})},
		{Check: description, How: "clears the attendees", Mutate: replacing(noAttendees)},
		{Check: description, How: "does nothing", Mutate: changing(func(c *Change) { c.Description = nil })},
		{Check: description, How: "the link goes with it", Mutate: losesLink},
		{Check: times, How: "clears the description", Mutate: replacing(noDescription)},
		{Check: times, How: "moves the start alone",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				if before, err := d.Event(ctx, ref); err == nil && c.End != nil {
					c.End = &before.End.Instant
				}
				return d.Change(ctx, ref, c)
			}})},
		{Check: times, How: "keeps them in UTC", Mutate: changing(func(c *Change) { c.Zone = "UTC" })},
		{Check: attendees, How: "adds to the list",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				if before, err := d.Event(ctx, ref); err == nil && c.Attendees != nil {
					all := *c.Attendees
					for _, a := range before.Attendees {
						all = append(all, a.Email)
					}
					c.Attendees = &all
				}
				return d.Change(ctx, ref, c)
			}})},
		{Check: attendees, How: "clears the description", Mutate: replacing(noDescription)},
		{Check: keepsAll, How: "clears the description", Mutate: replacing(noDescription)},
		{Check: keepsAll, How: "refuses",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				return Event{}, fault.New(fault.Invalid, fault.ReasonProviderRefused, "Nothing to do.")
			}})},
		{Check: "an empty description clears it", How: "takes it for not given", Mutate: changing(func(c *Change) {
			if c.Description != nil && *c.Description == "" {
				c.Description = nil
			}
		})},
		{Check: "an empty list of attendees clears it", How: "takes it for not given",
			Mutate: changing(func(c *Change) {
				if c.Attendees != nil && len(*c.Attendees) == 0 {
					c.Attendees = nil
				}
			})},
		{Check: zone, How: "the zone before", Mutate: changing(func(c *Change) { c.Zone = "America/St_Johns" })},
		{Check: texts, How: "cut", Mutate: changing(func(c *Change) {
			if c.Title != nil {
				cut := shorten(*c.Title, 255)
				c.Title = &cut
			}
		})},
		{Check: texts, How: "not escaped", Mutate: changing(func(c *Change) {
			if c.Description != nil {
				bare := strings.ReplaceAll(*c.Description, `\n`, "\n")
				c.Description = &bare
			}
		})},
		{Check: link, How: "it goes with the description", Mutate: losesLink},
		{Check: answers, How: "all are asked anew",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				if c.Attendees != nil {
					if e, err := d.Change(ctx, ref, Change{Attendees: &nobodyInvited}); err != nil {
						return e, err
					}
				}
				return d.Change(ctx, ref, c)
			}})},
		{Check: answers, How: "case makes another person",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				if before, err := d.Event(ctx, ref); err == nil && c.Attendees != nil {
					var known []string
					for _, email := range *c.Attendees {
						for _, a := range before.Attendees {
							if a.Email == email {
								known = append(known, email)
							}
						}
					}
					if e, err := d.Change(ctx, ref, Change{Attendees: &known}); err != nil {
						return e, err
					}
				}
				return d.Change(ctx, ref, c)
			}})},
		{Check: answers, How: "answers are not told", Mutate: alteringEvents(func(e *Event) {
			for i := range e.Attendees {
				e.Attendees[i].Response = "needs_action"
			}
		})},
		{Check: versions, How: "always the same", Mutate: alteringEvents(func(e *Event) { e.Version = "1" })},
		{Check: versions, How: "of the times alone",
			Mutate: alteringEvents(func(e *Event) { e.Version = e.Start.Instant.String() })},
		{Check: current, How: "every version is stale", Mutate: changing(func(c *Change) {
			if c.IfUnchanged != "" {
				c.IfUnchanged += "0"
			}
		})},
		{Check: current, How: "answers a version that is none",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				e, err := d.Change(ctx, ref, c)
				e.Version = "none"
				return e, err
			}})},
		{Check: stale, How: "does not look", Mutate: changing(unchecked)},
		{Check: stale, How: "writes, then refuses",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				version := c.IfUnchanged
				before, err := d.Event(ctx, ref)
				if err != nil {
					return before, err
				}
				c.IfUnchanged = ""
				e, err := d.Change(ctx, ref, c)
				if err == nil && version != "" && version != before.Version {
					return Event{}, changedMeanwhile()
				}
				return e, err
			}})},
		{Check: stale, How: "another reason",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				e, err := d.Change(ctx, ref, c)
				if errors.Is(err, fault.Conflict) {
					err = fault.New(fault.Conflict, fault.ReasonProviderConflict, "Conflict.")
				}
				return e, err
			}})},
		{Check: notOverwritten, How: "knows its own writes only", Mutate: changing(unchecked)},
		{Check: exactlyOne, How: "looks, then writes",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				return checkThenWrite(ctx, d, ref, c)
			}})},
		{Check: exactlyOne, How: "nobody wins",
			Mutate: mutate(mutation{change: func(_ context.Context, _ full, _ EventRef, c Change) (Event, error) {
				return Event{}, changedMeanwhile()
			}})},
		{Check: unknown, How: "makes it",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				e, err := d.Change(ctx, ref, c)
				if errors.Is(err, fault.NotFound) {
					return Event{ID: ref.ID}, nil
				}
				return e, err
			}})},
		{Check: gone, How: "brings it back",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				e, err := d.Change(ctx, ref, c)
				if errors.Is(err, fault.NotFound) {
					return d.Event(ctx, ref)
				}
				return e, err
			}})},
		{Check: gone, How: "forbidden, as Google says",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				e, err := d.Change(ctx, ref, c)
				if errors.Is(err, fault.NotFound) {
					err = fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "Forbidden.")
				}
				return e, err
			}})},
	}
}

func cancelMutants() []mutantOf {
	const (
		isGone    = "a cancelled event is gone, or marked where the provider keeps it"
		notListed = "a cancelled event is listed only where the provider keeps it"
		again     = "cancelling again is EVENT_NOT_FOUND"
		unknown   = "cancelling an unknown event is EVENT_NOT_FOUND"
	)
	canceling := func(do func(context.Context, full, EventRef) error) func(harness) harness {
		return mutate(mutation{cancel: do})
	}
	missingIsDone := canceling(func(ctx context.Context, d full, ref EventRef) error {
		if err := d.Cancel(ctx, ref); !errors.Is(err, fault.NotFound) {
			return err
		}
		return nil
	})
	return []mutantOf{
		{Check: isGone, How: "says so and does nothing",
			Mutate: canceling(func(context.Context, full, EventRef) error { return nil })},
		{Check: isGone, How: "not marked", Mutate: alteringEvents(func(e *Event) { e.IsCancelled = false })},
		{Check: notListed, How: "listed on", Mutate: mutate(mutation{
			cancel: func(context.Context, full, EventRef) error { return nil },
		})},
		{Check: "cancelling leaves other events alone", How: "all of that title",
			Mutate: canceling(func(ctx context.Context, d full, ref EventRef) error {
				e, err := d.Event(ctx, ref)
				if err != nil {
					return err
				}
				page, err := d.Events(ctx, Query{
					CalendarID: ref.CalendarID, From: e.Start.Instant, To: e.End.Instant, Zone: "UTC",
				})
				if err != nil {
					return err
				}
				for _, other := range page.Events {
					if err := d.Cancel(ctx, EventRef{CalendarID: other.CalendarID, ID: other.ID}); err != nil {
						return err
					}
				}
				return nil
			})},
		{Check: again, How: "takes it for done", Mutate: missingIsDone},
		{Check: unknown, How: "takes it for done", Mutate: missingIsDone},
		{Check: unknown, How: "says it was there",
			Mutate: canceling(func(ctx context.Context, d full, ref EventRef) error {
				err := d.Cancel(ctx, ref)
				if errors.Is(err, fault.NotFound) {
					return fault.From(err).With("gone", "true")
				}
				return err
			})},
	}
}
