package hubspot

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

const (
	// searchLag is how long after a Create a search without a result proves nothing. HubSpot says that new
	// records take moments to be found, and names no limit
	// (developers.hubspot.com/docs/api-reference/latest/crm/search-the-crm, "Limitations"). This is many
	// times the longest lag ever seen, since too short a wait creates a second ticket.
	searchLag = 5 * time.Minute
	// searchAgain is the wait before the next search until then.
	searchAgain = 30 * time.Second
	// searchPage is the most tickets that a search returns at once, and searchPages the most pages to read.
	searchPage  = 200
	searchPages = 3
	// searchesPerSecond is how many searches HubSpot takes from one account, apart from its other limits.
	searchesPerSecond = 5
)

// search is the body of a search (developers.hubspot.com/docs/api-reference/latest/crm/search-the-crm).
type search struct {
	FilterGroups []filterGroup `json:"filterGroups"`
	Properties   []string      `json:"properties"`
	Limit        int           `json:"limit"`
	After        string        `json:"after,omitempty"`
}

type filterGroup struct {
	Filters []filter `json:"filters"`
}

type filter struct {
	Property string   `json:"propertyName"`
	Operator string   `json:"operator"`
	Value    string   `json:"value,omitempty"`
	Values   []string `json:"values,omitempty"` // of IN
}

// paging says where the next page begins, if there is one.
type paging struct {
	Next struct {
		After string `json:"after"`
	} `json:"next"`
}

func only(f filter) filterGroup { return filterGroup{[]filter{f}} }

// Find implements crm.Finder for an account without a property for keys. It searches for the tickets created
// since t.Since, by anybody, and compares them itself: values that the search takes as equal can differ.
func (d *driver) Find(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	found, err := d.since(ctx, t.Since.Add(-crm.ClockSkew))
	if err != nil {
		return crm.Ticket{}, err
	}
	found, err = d.withRelated(ctx, t, found)
	if err != nil {
		return crm.Ticket{}, err
	}
	chosen, err := crm.Choose(t, found)
	if err == nil {
		found, err := d.ByID(ctx, chosen.ID)
		return asSent(t, found), err
	}
	if errors.Is(err, fault.NotFound) && d.now().Before(t.Until.Add(searchLag)) {
		return crm.Ticket{}, fault.NotKnownYet(
			"HubSpot's search does not find the ticket, and may not know it yet.", searchAgain)
	}
	return crm.Ticket{}, err
}

// since returns the tickets created at the time then or later.
func (d *driver) since(ctx context.Context, then time.Time) ([]crm.Ticket, error) {
	ask := search{
		FilterGroups: []filterGroup{only(filter{
			Property: createdProperty, Operator: "GTE", Value: strconv.FormatInt(then.UnixMilli(), 10),
		})},
		Properties: wanted, Limit: searchPage,
	}
	var found []crm.Ticket
	for range searchPages {
		var page struct {
			Results []record `json:"results"`
			Paging  paging   `json:"paging"`
		}
		if err := d.query(ctx, d.objects()+"/search", ask, &page); err != nil {
			return nil, err
		}
		if page.Results == nil { // an error inside a 200 does not say that there is none
			return nil, unreadable(http.MethodGet)
		}
		for _, r := range page.Results {
			found = append(found, r.ticket(stage{}, ""))
		}
		if ask.After = page.Paging.Next.After; ask.After == "" {
			return found, nil
		}
	}
	return nil, fault.Unknowable("More tickets were opened at HubSpot since then than the gateway looks " +
		"through.")
}

// withRelated adds the associations, which a search does not return, to the tickets that may be the one. It
// reads only a few: if there are more, nothing tells them apart.
func (d *driver) withRelated(ctx context.Context, t crm.NewTicket, found []crm.Ticket) ([]crm.Ticket, error) {
	if t.AccountID == "" && t.ContactID == "" {
		return found, nil
	}
	const few = 5
	unlinked := t
	unlinked.AccountID, unlinked.ContactID = "", ""
	found = slices.Clone(found)
	read := 0
	for i, f := range found {
		if _, err := crm.Choose(unlinked, []crm.Ticket{f}); err != nil || read == few {
			continue
		}
		read++
		var err error
		if found[i], err = d.ByID(ctx, f.ID); errors.Is(err, fault.NotFound) { // deleted meanwhile
			found[i] = crm.Ticket{ID: f.ID}
		} else if err != nil {
			return nil, err
		}
	}
	return found, nil
}
