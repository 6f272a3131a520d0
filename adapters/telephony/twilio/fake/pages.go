package fake

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// pageSize reads PageSize (twilio.com/docs/usage/twilios-response, "Pagination").
func pageSize(given url.Values) (int, *refusal) {
	text := given.Get("PageSize")
	if text == "" {
		return 50, nil
	}
	size, err := strconv.Atoi(text)
	switch {
	case err != nil || size < 1:
		return 0, refuse(400, 20001, "Invalid PageSize")
	case size > 1000:
		return 0, refuse(400, 20007, "Page size must be between 1 and 1000")
	}
	return size, nil
}

// list returns one page. PageToken names the number before the page. Page is the page's index.
func (c call) list() (map[string]any, *refusal) {
	size, refused := pageSize(c.given)
	if refused != nil {
		return nil, refused
	}
	var all []*Number
	for _, n := range c.numbers {
		if n.Account == c.account && strings.Contains(n.E164, c.given.Get("PhoneNumber")) &&
			strings.Contains(n.Name, c.given.Get("FriendlyName")) {
			all = append(all, n)
		}
	}
	page, start, refused := c.begins(all)
	if refused != nil {
		return nil, refused
	}
	end := min(start+size, len(all))
	items := []any{}
	for _, n := range all[start:end] {
		items = append(items, n.body())
	}
	var next any
	if end < len(all) {
		next = c.address(size, page+1, "PA"+all[end-1].SID)
	}
	return map[string]any{
		"incoming_phone_numbers": items, "next_page_uri": next, "previous_page_uri": nil,
		"first_page_uri": c.address(size, 0, ""), "uri": c.address(size, page, c.given.Get("PageToken")),
		"page": page, "page_size": size, "start": start, "end": max(end-1, 0),
	}, nil
}

// begins returns the requested page, and its first index among all numbers.
func (c call) begins(all []*Number) (page, start int, refused *refusal) {
	token, asked := c.given.Get("PageToken"), c.given.Get("Page")
	if token == "" && (asked == "" || asked == "0") {
		return 0, 0, nil
	}
	page, err := strconv.Atoi(asked)
	i := slices.IndexFunc(all, func(n *Number) bool { return "PA"+n.SID == token })
	if err != nil || page < 1 || i < 0 {
		return 0, 0, refuse(400, 21481, "Invalid PageToken")
	}
	return page, i + 1, nil
}

func (c call) address(size, page int, token string) string {
	query := url.Values{"PageSize": {strconv.Itoa(size)}, "Page": {strconv.Itoa(page)}}
	for _, name := range []string{"PhoneNumber", "FriendlyName"} {
		if c.given.Has(name) {
			query.Set(name, c.given.Get(name))
		}
	}
	if token != "" {
		query.Set("PageToken", token)
	}
	return root + c.path + "?" + query.Encode()
}
