package caldav

import (
	"bytes"
	"context"
	"encoding/xml"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// Methods of WebDAV (RFC 4918, RFC 3253).
const (
	methodPropfind = "PROPFIND"
	methodReport   = "REPORT"
)

const (
	calendarType = "text/calendar; charset=utf-8"
	xmlType      = "application/xml; charset=utf-8"
)

// answer is one HTTP response with its whole body.
type answer struct {
	status int
	header http.Header
	body   []byte
	url    *url.URL // the final URL, after redirects; relative addresses in the body refer to it
}

// send sends one request. It returns an error only if there is no response; an error status is a response.
func (d *driver) send(
	ctx context.Context, method string, address *url.URL, header http.Header, body []byte,
) (answer, error) {
	return d.exchange(ctx, method, address, header, body, func(answer) error { return nil })
}

// exchange is like send, but calls use to decode the response. It also returns the error of use.
func (d *driver) exchange(
	ctx context.Context, method string, address *url.URL, header http.Header, body []byte,
	use func(answer) error,
) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, address.String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, fault.From(err)
	}
	maps.Copy(req.Header, header)
	if len(body) > 0 && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", xmlType)
	}
	var a answer
	err = upstream.Read(d.http, req, func(resp *http.Response, content []byte) error {
		a = answer{status: resp.StatusCode, header: resp.Header, body: content, url: address}
		if resp.Request != nil && resp.Request.URL != nil {
			a.url = resp.Request.URL
		}
		return use(a)
	})
	return a, err
}

// foreign reports whether a success response is not from a calendar server. Calendar servers respond with 201
// or 204, or with 200 and an empty or XML body (Radicale, to DELETE). Proxies, firewalls and sign-in services
// respond with 200 and a page of their own.
func (a answer) foreign() bool {
	return a.status == http.StatusOK && len(bytes.TrimSpace(a.body)) > 0 &&
		!strings.Contains(a.header.Get("Content-Type"), "xml")
}

// query sends a PROPFIND or REPORT and reads the multistatus.
func (d *driver) query(
	ctx context.Context, method string, address *url.URL, depth, body string,
) (multistatus, answer, error) {
	header := http.Header{"Depth": {depth}, "Accept": {"application/xml, text/xml"}}
	if method == methodReport {
		ctx = upstream.Skipping(upstream.ForListing(ctx), withoutAttachments)
	}
	var m multistatus
	a, err := d.exchange(ctx, method, address, header, []byte(xml.Header+body), func(a answer) error {
		if a.status != http.StatusMultiStatus {
			return refusal(a)
		}
		if err := upstream.UnmarshalXML(ctx, a.body, &m); err != nil {
			return notWebDAV(ctx, err)
		}
		return nil
	})
	a.body = nil // the multistatus holds all of it
	if err != nil {
		return multistatus{}, a, err
	}
	return m, a, nil
}

// notWebDAV returns the fault for a response that could not be decoded, or not before ctx ended.
func notWebDAV(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fault.From(ctx.Err())
	}
	return misconfigured("gives an answer that is not WebDAV").Because(err)
}

// multistatus is the response to PROPFIND and REPORT (RFC 4918 section 13).
type multistatus struct {
	XMLName   xml.Name   `xml:"DAV: multistatus"`
	Responses []response `xml:"DAV: response"`
	SyncToken string     `xml:"DAV: sync-token"`
}

type response struct {
	Href      string     `xml:"DAV: href"`
	Status    string     `xml:"DAV: status"`
	Propstats []propstat `xml:"DAV: propstat"`
}

type propstat struct {
	Status string `xml:"DAV: status"`
	Prop   prop   `xml:"DAV: prop"`
}

// prop holds every property that we ask for.
type prop struct {
	Type        elements   `xml:"DAV: resourcetype"`
	DisplayName string     `xml:"DAV: displayname"`
	ETag        string     `xml:"DAV: getetag"`
	SyncToken   string     `xml:"DAV: sync-token"`
	Owner       hrefs      `xml:"DAV: owner"`
	Principal   *principal `xml:"DAV: current-user-principal"`
	Privileges  *struct {
		Held []elements `xml:"DAV: privilege"`
	} `xml:"DAV: current-user-privilege-set"`

	Homes      hrefs `xml:"urn:ietf:params:xml:ns:caldav calendar-home-set"`
	Addresses  hrefs `xml:"urn:ietf:params:xml:ns:caldav calendar-user-address-set"`
	Inbox      hrefs `xml:"urn:ietf:params:xml:ns:caldav schedule-inbox-URL"`
	Default    hrefs `xml:"urn:ietf:params:xml:ns:caldav schedule-default-calendar-URL"`
	Components *struct {
		Names []struct {
			Name string `xml:"name,attr"`
		} `xml:"urn:ietf:params:xml:ns:caldav comp"`
	} `xml:"urn:ietf:params:xml:ns:caldav supported-calendar-component-set"`
	Zone   string `xml:"urn:ietf:params:xml:ns:caldav calendar-timezone"`
	ZoneID string `xml:"urn:ietf:params:xml:ns:caldav calendar-timezone-id"`
	Data   string `xml:"urn:ietf:params:xml:ns:caldav calendar-data"`
}

type hrefs struct {
	List []struct {
		Preferred string `xml:"preferred,attr"`
		Href      string `xml:",chardata"`
	} `xml:"DAV: href"`
}

type principal struct {
	Href            string    `xml:"DAV: href"`
	Unauthenticated *struct{} `xml:"DAV: unauthenticated"`
}

// elements holds the names of the child elements.
type elements struct {
	List []struct{ XMLName xml.Name } `xml:",any"`
}

func (e elements) has(space, name string) bool {
	for _, element := range e.List {
		if element.XMLName == (xml.Name{Space: space, Local: name}) {
			return true
		}
	}
	return false
}

func (e elements) hasAny(space string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return e.has(space, name) })
}

const (
	davSpace    = "DAV:"
	caldavSpace = "urn:ietf:params:xml:ns:caldav"
)

const bytesBesideAddress = 100

// addressBytes returns about how much memory the addresses of a principal take.
func (p prop) addressBytes() (size int) {
	for _, address := range p.Addresses.List {
		size += bytesBesideAddress + 2*len(address.Href) // as it is, and as its key
	}
	return size
}

// properties returns the properties that the resource has. Missing ones have another status.
func (r response) properties() prop {
	for _, ps := range r.Propstats {
		if ps.Status == "" || statusOf(ps.Status) == http.StatusOK {
			return ps.Prop
		}
	}
	return prop{}
}

// statusOf returns the status of a line such as "HTTP/1.1 404 Not Found", or 0 if there is none.
func statusOf(line string) int {
	parts := strings.Fields(line)
	if len(parts) < 2 {
		return 0
	}
	status, _ := strconv.Atoi(parts[1])
	return status
}

// conditions returns the names in a DAV:error body: the precondition that failed (RFC 4918 section 16), and
// the resource that no-uid-conflict names (RFC 4791 section 5.3.2.1).
func conditions(body []byte) (failed elements, uidHref string) {
	var e struct {
		XMLName xml.Name `xml:"DAV: error"`
		List    []struct {
			XMLName xml.Name
			Href    string `xml:"DAV: href"`
		} `xml:",any"`
	}
	if err := upstream.UnmarshalXML(context.Background(), body, &e); err != nil {
		return elements{}, ""
	}
	for _, condition := range e.List {
		failed.List = append(failed.List, struct{ XMLName xml.Name }{condition.XMLName})
		if condition.XMLName.Local == "no-uid-conflict" {
			uidHref = strings.TrimSpace(condition.Href)
		}
	}
	return failed, uidHref
}

// strongTag converts an ETag into one for If-Match, which compares strongly (RFC 9110 section 13.1.1). Front
// ends that compress on the fly weaken the server's tag (nginx) or append to it (Apache, Jetty). They pass
// conditions on to the server, which knows only its own tag.
func strongTag(tag string) string {
	tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
	tag = strings.Trim(tag, `"`)
	if tag == "" || strings.ContainsAny(tag, "\r\n\"") {
		return ""
	}
	for _, suffix := range []string{"--gzip", "-gzip", ";gzip"} {
		tag = strings.TrimSuffix(tag, suffix)
	}
	return `"` + tag + `"`
}
