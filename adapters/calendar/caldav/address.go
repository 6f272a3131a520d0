package caldav

import (
	"net/url"
	"path"
	"strings"

	"frontdesk/core/upstream"
)

// id converts an address of the account into an id: its path in the canonical escaping, preceded by the
// origin only if that differs from the calendars' origin.
func (d *driver) id(a *account, address *url.URL) string {
	p := canonicalPath(address.EscapedPath())
	if address.Host == "" || address.Host == a.base.Host && address.Scheme == a.base.Scheme {
		return p
	}
	return address.Scheme + "://" + address.Host + p
}

// locate converts an id back into an address.
func (a *account) locate(id string) (*url.URL, error) { return a.base.Parse(id) }

// resolve resolves an address in the response. ok is false if it is empty or if the rules for redirects
// forbid following it.
func (a answer) resolve(href string) (address *url.URL, ok bool) { return resolve(a.url, href) }

func resolve(from *url.URL, href string) (address *url.URL, ok bool) {
	href = strings.TrimSpace(href)
	if href == "" {
		return nil, false
	}
	address, err := upstream.Reference(from, href)
	return address, err == nil
}

// canonicalPath escapes each segment of a path in one way, so that /a%40b/ and /a@b/ become equal. An escaped
// slash stays escaped.
func canonicalPath(escaped string) string {
	segments := strings.Split(escaped, "/")
	for i, segment := range segments {
		if plain, err := url.PathUnescape(segment); err == nil {
			segments[i] = url.PathEscape(plain)
		}
	}
	return strings.Join(segments, "/")
}

// split splits an event's id into the resource's id, the name of the object in it, and the instance's key.
func split(id string) (resource, part, key string, isInstance bool) {
	resource, key, isInstance = strings.Cut(id, seriesSeparator)
	if strings.HasPrefix(key, partPrefix) {
		part, key, isInstance = strings.Cut(key, partSeparator)
	}
	return resource, part, key, isInstance
}

// within reports whether the resource is a direct member of the collection and not a collection itself. Only
// such a resource may be read, changed or removed as an event.
func within(collection, resource string) bool {
	member, ok := strings.CutPrefix(resource, strings.TrimSuffix(collection, "/")+"/")
	if !ok || member == "" || strings.ContainsAny(member, "/?#") || member == "." || member == ".." {
		return false
	}
	plain, err := url.PathUnescape(member)
	return err == nil && !strings.ContainsAny(plain, "\x00\r\n") && canonicalPath(member) == member
}

func lastSegment(id string) string {
	last := path.Base(strings.TrimSuffix(id, "/"))
	if plain, err := url.PathUnescape(last); err == nil {
		return plain
	}
	return last
}
