package fake

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The limits of a search ("Search the CRM", "Limitations").
const (
	mostGroups    = 5
	mostInGroup   = 6
	mostFilters   = 18
	mostFound     = 200 // at once
	mostFoundEver = 10_000
)

// search is the body of a search ("Search the CRM").
type search struct {
	FilterGroups []struct {
		Filters []filter `json:"filters"`
	} `json:"filterGroups"`
	Properties []string `json:"properties"`
	Limit      int      `json:"limit"`
	After      string   `json:"after"`
}

type filter struct {
	PropertyName string   `json:"propertyName"`
	Operator     string   `json:"operator"`
	Value        string   `json:"value"`
	Values       []string `json:"values"`
}

// decodeSearch reads a search that needs one of the scopes.
func (c call) decodeSearch(scopes ...string) (search, *refusal) {
	var in search
	if refused := first(c.takes(), c.needsOne(scopes), decode(c.request, &in)); refused != nil {
		return in, refused
	}
	all := 0
	for _, group := range in.FilterGroups {
		if all += len(group.Filters); len(group.Filters) == 0 || len(group.Filters) > mostInGroup {
			return in, validation(fmt.Sprintf("A filter group has from 1 to %d filters", mostInGroup))
		}
	}
	if len(in.FilterGroups) > mostGroups || all > mostFilters {
		return in, validation("There are too many filters or filter groups")
	}
	return in, nil
}

// matches reports whether all filters of one of the groups fit, or there are no groups.
func (in search) matches(fits func(filter) (bool, *refusal)) (bool, *refusal) {
	matches := len(in.FilterGroups) == 0
	for _, group := range in.FilterGroups {
		all := true
		for _, f := range group.Filters {
			fit, refused := fits(f)
			if refused != nil {
				return false, refused
			}
			all = all && fit
		}
		matches = matches || all
	}
	return matches, nil
}

// fits compares a property's value with a filter ("Search the CRM", "Filter"). Of IN, "values must be
// lowercase". CONTAINS_TOKEN compares words, of which * stands for any part. What it does with several words
// is not documented: here it finds each of them.
func (f filter) fits(value string) (bool, *refusal) {
	value = strings.ToLower(value)
	switch f.Operator {
	case "EQ":
		if f.Value == "" {
			return false, validation("EQ needs a value")
		}
		return value == strings.ToLower(f.Value), nil
	case "IN":
		if len(f.Values) == 0 {
			return false, validation("IN needs values")
		}
		return value != "" && slices.Contains(f.Values, value), nil
	case "CONTAINS_TOKEN":
		words := strings.FieldsFunc(value, separates)
		for wanted := range strings.FieldsFuncSeq(strings.ToLower(f.Value), separates) {
			pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(wanted), `\*`, ".*") + "$")
			if slices.ContainsFunc(words, pattern.MatchString) {
				return true, nil
			}
		}
		return false, nil
	}
	return false, validation("This fake search does not know the operator " + f.Operator)
}

func separates(r rune) bool { return strings.ContainsRune(" ;,", r) }

// isIndexed reports whether a search knows a record that was created then.
func (s *Server) isIndexed(created time.Time) bool {
	return !s.options.Now().Before(created.Add(s.options.SearchLag))
}

// page returns the page of the results that the search asks for.
func (in search) page(results []any) (any, *refusal) {
	limit := cmp.Or(in.Limit, 10)
	from, err := strconv.Atoi(cmp.Or(in.After, "0"))
	if err != nil || from < 0 || from > len(results) || limit < 1 || limit > mostFound ||
		from+limit > mostFoundEver {
		return nil, validation("The page cannot be told")
	}
	end := min(from+limit, len(results))
	answer := map[string]any{"total": len(results), "results": results[from:end]}
	if end < len(results) {
		answer["paging"] = map[string]any{"next": map[string]any{"after": strconv.Itoa(end)}}
	}
	return answer, nil
}

// searchTickets finds tickets by filters: a property has a value, or the ticket was created at a time or
// later. It finds new tickets late, and responds in pages.
func (c call) searchTickets([]string) (any, *refusal) {
	in, refused := c.decodeSearch(readTickets...)
	if refused != nil {
		return nil, refused
	}
	results := []any{}
	for _, t := range c.tickets {
		matches, refused := in.matches(func(f filter) (bool, *refusal) {
			switch {
			case f.PropertyName == "createdate" && f.Operator == "GTE":
				from, err := strconv.ParseInt(f.Value, 10, 64)
				if err != nil {
					return false, validation("createdate is compared with milliseconds")
				}
				return t.created.UnixMilli() >= from, nil
			case f.PropertyName == "hs_object_id":
				return f.fits(t.id)
			}
			return f.fits(t.properties[f.PropertyName])
		})
		if refused != nil {
			return nil, refused
		}
		if matches && !t.archived && c.isIndexed(t.created) {
			results = append(results, c.shape(t, in.Properties, nil))
		}
	}
	return in.page(results)
}
