package fake

import (
	"encoding/xml"
	"html"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

const (
	dav    = "DAV:"
	caldav = "urn:ietf:params:xml:ns:caldav"
)

// element is any XML element.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:",any"`
	Text     string     `xml:",chardata"`
}

func (e element) child(space, name string) (element, bool) {
	i := slices.IndexFunc(e.Children,
		func(c element) bool { return c.XMLName == xml.Name{Space: space, Local: name} })
	if i < 0 {
		return element{}, false
	}
	return e.Children[i], true
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// body parses the request's XML. Its root has to be one of roots.
func (s *Server) body(a *recorded, r *http.Request, roots ...xml.Name) (element, bool) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		a.status = http.StatusBadRequest
		return element{}, false
	}
	var e element
	if !strings.Contains(r.Header.Get("Content-Type"), "xml") || xml.Unmarshal(content, &e) != nil {
		s.violate(r, "the body is not XML, or is not called so")
		a.status = http.StatusBadRequest
		return element{}, false
	}
	if !slices.Contains(roots, e.XMLName) {
		s.violate(r, "the body is a %s", e.XMLName.Local)
		a.status = http.StatusBadRequest
		return element{}, false
	}
	return e, true
}

// property returns the inner XML of a property. ok reports whether the resource has it.
type property func() (inner string, ok bool)

type properties map[xml.Name]property

func text(inner string) property { return func() (string, bool) { return inner, true } }

func (s *Server) href(path string) string {
	address := escape(path)
	if s.options.AbsoluteHrefs {
		address = s.origin() + address
	}
	return "<D:href>" + html.EscapeString(address) + "</D:href>"
}

func (s *Server) homeHref() string {
	if s.options.HomeHost == "" {
		return s.href(s.Home())
	}
	return "<D:href>http://" + s.options.HomeHost + escape(s.Home()) + "</D:href>"
}

func (s *Server) addresses() string {
	var b strings.Builder
	for _, address := range append([]string{"mailto:" + s.options.Email}, s.options.Aliases...) {
		if !s.options.NoEmail || !strings.HasPrefix(address, "mailto:") {
			b.WriteString("<D:href>" + html.EscapeString(address) + "</D:href>")
		}
	}
	return b.String()
}

// origin returns a placeholder for the server's own address, which multistatus replaces.
func (s *Server) origin() string { return originMark }

const originMark = "{origin}"

// everywhere returns the properties that every resource has.
func (s *Server) everywhere() properties {
	return properties{
		{Space: dav, Local: "current-user-principal"}: text(s.href(s.principal())),
	}
}

func (s *Server) propertiesOf(path string) (properties, bool) {
	p := s.everywhere()
	switch c := s.collections[path]; {
	case path == root, path == principals, path == homes, path == "/":
		p[xml.Name{Space: dav, Local: "resourcetype"}] = text("<D:collection/>")
	case path == s.principal():
		maps.Copy(p, properties{
			{Space: dav, Local: "resourcetype"}:                 text("<D:collection/><D:principal/>"),
			{Space: dav, Local: "displayname"}:                  text("Alice"),
			{Space: caldav, Local: "calendar-home-set"}:         text(s.homeHref()),
			{Space: caldav, Local: "schedule-inbox-URL"}:        text(s.href(s.inbox())),
			{Space: caldav, Local: "calendar-user-address-set"}: text(s.href(s.principal()) + s.addresses()),
		})
	case s.users[path] != "":
		address := "<D:href>mailto:" + html.EscapeString(s.users[path]) + "</D:href>"
		maps.Copy(p, properties{
			{Space: dav, Local: "resourcetype"}:                 text("<D:collection/><D:principal/>"),
			{Space: caldav, Local: "calendar-user-address-set"}: text(address),
		})
	case path == s.Home():
		p[xml.Name{Space: dav, Local: "resourcetype"}] = text("<D:collection/>")
	case path == s.inbox():
		p[xml.Name{Space: dav, Local: "resourcetype"}] = text("<D:collection/><C:schedule-inbox/>")
		p[xml.Name{Space: caldav, Local: "schedule-default-calendar-URL"}] = func() (string, bool) {
			return s.href(s.standard), s.options.AutoSchedule && s.standard != ""
		}
	case c != nil:
		maps.Copy(p, c.properties())
		p[xml.Name{Space: dav, Local: "owner"}] = func() (string, bool) {
			return s.href(c.owner), c.owner != ""
		}
		p[xml.Name{Space: dav, Local: "sync-token"}] = func() (string, bool) {
			return s.syncToken(), !s.options.NoSync
		}
	default:
		return nil, false
	}
	return p, true
}

func (c *collection) properties() properties {
	component, privileges := "VEVENT",
		"<D:privilege><D:read/></D:privilege><D:privilege><D:write/></D:privilege>"
	if c.tasks {
		component = "VTODO"
	}
	if c.readOnly {
		privileges = "<D:privilege><D:read/></D:privilege><D:privilege><C:read-free-busy/></D:privilege>"
	}
	return properties{
		{Space: dav, Local: "resourcetype"}:                        text("<D:collection/><C:calendar/>"),
		{Space: dav, Local: "displayname"}:                         text(html.EscapeString(c.name)),
		{Space: dav, Local: "current-user-privilege-set"}:          text(privileges),
		{Space: caldav, Local: "supported-calendar-component-set"}: text(`<C:comp name="` + component + `"/>`),
		{Space: caldav, Local: "calendar-timezone"}: func() (string, bool) {
			return html.EscapeString(c.zone), c.zone != ""
		},
	}
}

func (s *Server) propertiesOfObject(o *stored) properties {
	p := s.everywhere()
	p[xml.Name{Space: dav, Local: "resourcetype"}] = text("")
	p[xml.Name{Space: dav, Local: "getetag"}] = func() (string, bool) {
		tag := s.shownTag(o)
		return html.EscapeString(tag), tag != ""
	}
	p[xml.Name{Space: caldav, Local: "calendar-data"}] = text(html.EscapeString(o.data))
	p[xml.Name{Space: caldav, Local: "schedule-tag"}] = func() (string, bool) {
		s.tags++
		if s.options.OnScheduleTag != nil {
			s.options.OnScheduleTag()
		}
		return html.EscapeString(o.tag()), s.options.AutoSchedule
	}
	return p
}

// response returns one D:response with the requested properties, both found and missing.
func (s *Server) response(path string, have properties, asked []element) string {
	var found, missing strings.Builder
	for _, ask := range asked {
		prefix := map[string]string{dav: "D", caldav: "C"}[ask.XMLName.Space]
		inner, ok := "", false
		if get := have[ask.XMLName]; get != nil && prefix != "" {
			inner, ok = get()
		}
		name := prefix + ":" + ask.XMLName.Local
		if prefix == "" {
			name = `X:` + ask.XMLName.Local + ` xmlns:X="` + html.EscapeString(ask.XMLName.Space) + `"`
		}
		if ok {
			found.WriteString("<" + name + ">" + inner + "</" + name + ">")
		} else {
			missing.WriteString("<" + name + "/>")
		}
	}
	b := "<D:response>" + s.href(path)
	if found.Len() > 0 {
		b += "<D:propstat><D:prop>" + found.String() + "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>"
	}
	if missing.Len() > 0 {
		b += "<D:propstat><D:prop>" + missing.String() +
			"</D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>"
	}
	return b + "</D:response>"
}

func (s *Server) multistatus(a *recorded, r *http.Request, responses []string) {
	a.status = http.StatusMultiStatus
	a.header.Set("Content-Type", "application/xml; charset=utf-8")
	a.body = `<?xml version="1.0" encoding="utf-8"?>` +
		`<D:multistatus xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">` +
		strings.ReplaceAll(strings.Join(responses, ""), originMark, "http://"+r.Host) + `</D:multistatus>`
}

func (s *Server) propfind(a *recorded, r *http.Request) {
	asked, ok := s.body(a, r, xml.Name{Space: dav, Local: "propfind"})
	if !ok {
		return
	}
	wanted, ok := asked.child(dav, "prop")
	depth := r.Header.Get("Depth")
	if !ok || depth != "0" && depth != "1" {
		s.violate(r, "asks no named properties, or with the depth %q", depth)
		a.refuse(`<D:propfind-finite-depth/>`)
		return
	}
	have, ok := s.propertiesOf(r.URL.Path)
	if !ok {
		a.status = http.StatusNotFound
		return
	}
	responses := []string{s.response(r.URL.Path, have, wanted.Children)}
	if depth == "1" && r.URL.Path == s.Home() {
		for _, path := range slices.Sorted(maps.Keys(s.collections)) {
			have, _ := s.propertiesOf(path)
			responses = append(responses, s.response(path, have, wanted.Children))
		}
		have, _ := s.propertiesOf(s.inbox())
		responses = append(responses, s.response(s.inbox(), have, wanted.Children))
	}
	s.multistatus(a, r, responses)
}
