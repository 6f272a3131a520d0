package calendartest_test

import (
	"context"
	"errors"
	"strings"
	"sync"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// changing lies by making another change.
func changing(alter func(*Change)) func(harness) harness {
	return tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
		alter(&c)
		return d.Change(ctx, ref, c)
	}})
}

// replacing lies by writing the whole event, with what is not given left out.
func replacing(fill func(*Change)) func(harness) harness {
	return tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
		fill(&c)
		return d.Change(ctx, ref, c)
	}})
}

// reading lies in what Event answers.
func reading(alter func(*Event)) func(harness) harness {
	return tell(lies{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
		e, err := d.Event(ctx, ref)
		if err == nil {
			alter(&e)
		}
		return e, err
	}})
}

// missing returns the event as if it were there.
func missing(ctx context.Context, d full, ref EventRef) (Event, error) {
	e, err := d.Event(ctx, ref)
	if errors.Is(err, fault.NotFound) {
		return Event{ID: ref.ID, CalendarID: ref.CalendarID, Version: "1"}, nil
	}
	return e, err
}

func eventLiars() []liarOf {
	const (
		read  = "an event is read as it was booked"
		data  = "an id is only data: it reaches nothing but an event of that calendar"
		found = "an event is found in its own calendar only"
	)
	return []liarOf{
		{Check: read, How: "no version", Lie: reading(func(e *Event) { e.Version = "" })},
		{Check: read, How: "no description", Lie: reading(func(e *Event) { e.Description = "" })},
		{Check: read, How: "no attendees", Lie: reading(func(e *Event) { e.Attendees = nil })},
		{Check: read, How: "another end", Lie: reading(func(e *Event) { e.End = e.Start })},
		{Check: read, How: "only what it booked itself", Lie: func(h harness) harness {
			open := h.Open
			h.Open = func() calendar.Driver {
				booked := map[string]bool{}
				return &liar{full: open().(full), lies: lies{
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
		{Check: "reading an unknown event is EVENT_NOT_FOUND", How: "an empty event", Lie: tell(lies{event: missing})},
		{Check: "reading an unknown event is EVENT_NOT_FOUND", How: "another reason",
			Lie: tell(lies{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				e, err := d.Event(ctx, ref)
				if err != nil {
					err = fault.New(fault.NotFound, fault.ReasonNotFound, "No.")
				}
				return e, err
			}})},
		{Check: data, How: "reads the calendar itself",
			Lie: tell(lies{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				if ref.ID == ".." {
					return Event{ID: "..", Version: "1"}, nil
				}
				return d.Event(ctx, ref)
			}})},
		{Check: data, How: "chokes on a percent sign",
			Lie: tell(lies{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				if ref.ID == "%" {
					return Event{}, errors.New("invalid URL escape")
				}
				return d.Event(ctx, ref)
			}})},
		{Check: found, How: "looks everywhere",
			Lie: tell(lies{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				e, err := d.Event(ctx, ref)
				if err != nil {
					ref.CalendarID = first
					return d.Event(ctx, ref)
				}
				return e, err
			}})},
		{Check: found, How: "cancels everywhere",
			Lie: tell(lies{cancel: func(ctx context.Context, d full, ref EventRef, c Cancellation) error {
				ref.CalendarID = first
				return d.Cancel(ctx, ref, c)
			}})},
	}
}

func changeLiars() []liarOf {
	const (
		title       = "changing the title alone keeps the rest"
		description = "changing the description alone keeps the rest"
		times       = "changing the times alone keeps the rest"
		attendees   = "changing the attendees alone keeps the rest"
		nothing     = "changing nothing keeps everything"
		zone        = "changed times are kept in the zone given with them"
		texts       = "changed texts are kept exactly"
		link        = "a change keeps the meeting link"
		answers     = "attendees who stay keep their answers"
		versions    = "every change has a new version"
		current     = "a change of the current version is made"
		stale       = "a change of a stale version is CHANGED_MEANWHILE and writes nothing"
		meddled     = "a change that someone else made at the provider is not overwritten"
		oneOfMany   = "of many changes at once of one version exactly one is made"
		unknown     = "changing an unknown event is EVENT_NOT_FOUND"
		gone        = "changing a cancelled event is EVENT_NOT_FOUND"
	)
	empty, nobody := "", []string{}
	noDescription := func(c *Change) {
		if c.Description == nil {
			c.Description = &empty
		}
	}
	noAttendees := func(c *Change) {
		if c.Attendees == nil {
			c.Attendees = &nobody
		}
	}
	unchecked := func(c *Change) { c.IfUnchanged = "" }
	losesLink := fresh(func() lies {
		var mu sync.Mutex
		lost := map[string]bool{}
		return lies{
			change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				mu.Lock()
				defer mu.Unlock()
				lost[ref.ID] = lost[ref.ID] || c.Description != nil
				return d.Change(ctx, ref, c)
			},
			told: func(e *Event) {
				if mu.TryLock() {
					defer mu.Unlock()
				}
				if lost[e.ID] {
					e.URL = ""
				}
			},
		}
	})
	return []liarOf{
		{Check: title, How: "clears the description", Lie: replacing(noDescription)},
		{Check: title, How: "clears the attendees", Lie: replacing(noAttendees)},
		{Check: title, How: "does nothing", Lie: changing(func(c *Change) { c.Title = nil })},
		{Check: title, How: "answers the event before",
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				before, err := d.Event(ctx, ref)
				if err == nil {
					_, err = d.Change(ctx, ref, c)
				}
				return before, err
			}})},
		{Check: description, How: "clears the attendees", Lie: replacing(noAttendees)},
		{Check: description, How: "does nothing", Lie: changing(func(c *Change) { c.Description = nil })},
		{Check: description, How: "the link goes with it", Lie: losesLink},
		{Check: times, How: "clears the description", Lie: replacing(noDescription)},
		{Check: times, How: "moves the start alone",
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				if before, err := d.Event(ctx, ref); err == nil && c.End != nil {
					c.End = &before.End.Instant
				}
				return d.Change(ctx, ref, c)
			}})},
		{Check: times, How: "keeps them in UTC", Lie: changing(func(c *Change) { c.Zone = "UTC" })},
		{Check: attendees, How: "adds to the list",
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				if before, err := d.Event(ctx, ref); err == nil && c.Attendees != nil {
					all := *c.Attendees
					for _, a := range before.Attendees {
						all = append(all, a.Email)
					}
					c.Attendees = &all
				}
				return d.Change(ctx, ref, c)
			}})},
		{Check: attendees, How: "clears the description", Lie: replacing(noDescription)},
		{Check: nothing, How: "clears the description", Lie: replacing(noDescription)},
		{Check: nothing, How: "refuses",
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				return Event{}, fault.New(fault.Invalid, fault.ReasonProviderRefused, "Nothing to do.")
			}})},
		{Check: "an empty description clears it", How: "takes it for not given", Lie: changing(func(c *Change) {
			if c.Description != nil && *c.Description == "" {
				c.Description = nil
			}
		})},
		{Check: "an empty list of attendees clears it", How: "takes it for not given", Lie: changing(func(c *Change) {
			if c.Attendees != nil && len(*c.Attendees) == 0 {
				c.Attendees = nil
			}
		})},
		{Check: zone, How: "the zone before", Lie: changing(func(c *Change) { c.Zone = "America/St_Johns" })},
		{Check: texts, How: "cut", Lie: changing(func(c *Change) {
			if c.Title != nil {
				cut := shorten(*c.Title, 255)
				c.Title = &cut
			}
		})},
		{Check: texts, How: "not escaped", Lie: changing(func(c *Change) {
			if c.Description != nil {
				bare := strings.ReplaceAll(*c.Description, `\n`, "\n")
				c.Description = &bare
			}
		})},
		{Check: link, How: "it goes with the description", Lie: losesLink},
		{Check: answers, How: "all are asked anew",
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				if c.Attendees != nil {
					if e, err := d.Change(ctx, ref, Change{Attendees: &nobody}); err != nil {
						return e, err
					}
				}
				return d.Change(ctx, ref, c)
			}})},
		{Check: answers, How: "case makes another person",
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
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
		{Check: answers, How: "answers are not told", Lie: telling(func(e *Event) {
			for i := range e.Attendees {
				e.Attendees[i].Response = "needs_action"
			}
		})},
		{Check: versions, How: "always the same", Lie: telling(func(e *Event) { e.Version = "1" })},
		{Check: versions, How: "of the times alone", Lie: telling(func(e *Event) { e.Version = e.Start.Instant.String() })},
		{Check: current, How: "every version is stale", Lie: changing(func(c *Change) {
			if c.IfUnchanged != "" {
				c.IfUnchanged += "0"
			}
		})},
		{Check: current, How: "answers a version that is none",
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				e, err := d.Change(ctx, ref, c)
				e.Version = "none"
				return e, err
			}})},
		{Check: stale, How: "does not look", Lie: changing(unchecked)},
		{Check: stale, How: "writes, then refuses",
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
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
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				e, err := d.Change(ctx, ref, c)
				if errors.Is(err, fault.Conflict) {
					err = fault.New(fault.Conflict, fault.ReasonProviderConflict, "Conflict.")
				}
				return e, err
			}})},
		{Check: meddled, How: "knows its own writes only", Lie: changing(unchecked)},
		{Check: oneOfMany, How: "looks, then writes",
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				return checkThenWrite(ctx, d, ref, c)
			}})},
		{Check: oneOfMany, How: "nobody wins",
			Lie: tell(lies{change: func(_ context.Context, _ full, _ EventRef, c Change) (Event, error) {
				return Event{}, changedMeanwhile()
			}})},
		{Check: unknown, How: "makes it",
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				e, err := d.Change(ctx, ref, c)
				if errors.Is(err, fault.NotFound) {
					return Event{ID: ref.ID}, nil
				}
				return e, err
			}})},
		{Check: gone, How: "brings it back",
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				e, err := d.Change(ctx, ref, c)
				if errors.Is(err, fault.NotFound) {
					return d.Event(ctx, ref)
				}
				return e, err
			}})},
		{Check: gone, How: "forbidden, as Google says",
			Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				e, err := d.Change(ctx, ref, c)
				if errors.Is(err, fault.NotFound) {
					err = fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "Forbidden.")
				}
				return e, err
			}})},
	}
}

func cancelLiars() []liarOf {
	const (
		isGone    = "a cancelled event is gone, or marked where the provider keeps it"
		notListed = "a cancelled event is listed only where the provider keeps it"
		again     = "cancelling again is EVENT_NOT_FOUND"
		unknown   = "cancelling an unknown event is EVENT_NOT_FOUND"
		stale     = "cancelling a stale version is CHANGED_MEANWHILE and cancels nothing"
		current   = "cancelling the current version, with a comment, is done"
	)
	canceling := func(do func(context.Context, full, EventRef, Cancellation) error) func(harness) harness {
		return tell(lies{cancel: do})
	}
	missingIsDone := canceling(func(ctx context.Context, d full, ref EventRef, c Cancellation) error {
		if err := d.Cancel(ctx, ref, c); !errors.Is(err, fault.NotFound) {
			return err
		}
		return nil
	})
	return []liarOf{
		{Check: isGone, How: "says so and does nothing",
			Lie: canceling(func(context.Context, full, EventRef, Cancellation) error { return nil })},
		{Check: isGone, How: "not marked", Lie: telling(func(e *Event) { e.IsCancelled = false })},
		{Check: notListed, How: "listed on", Lie: tell(lies{
			cancel: func(context.Context, full, EventRef, Cancellation) error { return nil },
		})},
		{Check: "cancelling leaves other events alone", How: "all of that title",
			Lie: canceling(func(ctx context.Context, d full, ref EventRef, c Cancellation) error {
				e, err := d.Event(ctx, ref)
				if err != nil {
					return err
				}
				page, err := d.Events(ctx, Query{CalendarID: ref.CalendarID, From: e.Start.Instant, To: e.End.Instant, Zone: "UTC"})
				if err != nil {
					return err
				}
				for _, other := range page.Events {
					if err := d.Cancel(ctx, EventRef{CalendarID: other.CalendarID, ID: other.ID}, c); err != nil {
						return err
					}
				}
				return nil
			})},
		{Check: again, How: "takes it for done", Lie: missingIsDone},
		{Check: unknown, How: "takes it for done", Lie: missingIsDone},
		{Check: unknown, How: "says it was there",
			Lie: canceling(func(ctx context.Context, d full, ref EventRef, c Cancellation) error {
				err := d.Cancel(ctx, ref, c)
				if errors.Is(err, fault.NotFound) {
					return fault.From(err).With("gone", "true")
				}
				return err
			})},
		{Check: stale, How: "does not look", Lie: canceling(func(ctx context.Context, d full, ref EventRef, c Cancellation) error {
			c.IfUnchanged = ""
			return d.Cancel(ctx, ref, c)
		})},
		{Check: stale, How: "cancels, then refuses",
			Lie: canceling(func(ctx context.Context, d full, ref EventRef, c Cancellation) error {
				err := d.Cancel(ctx, ref, c)
				if errors.Is(err, fault.Conflict) {
					return errors.Join(d.Cancel(ctx, ref, Cancellation{}), err)
				}
				return err
			})},
		{Check: current, How: "every version is stale",
			Lie: canceling(func(ctx context.Context, d full, ref EventRef, c Cancellation) error {
				if c.IfUnchanged != "" {
					return changedMeanwhile()
				}
				return d.Cancel(ctx, ref, c)
			})},
		{Check: current, How: "comments are not understood",
			Lie: canceling(func(ctx context.Context, d full, ref EventRef, c Cancellation) error {
				if c.Comment != "" {
					return fault.New(fault.Unsupported, fault.ReasonNotSupported, "No comments.")
				}
				return d.Cancel(ctx, ref, c)
			})},
	}
}
