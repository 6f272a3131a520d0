package microsoft

import (
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
)

func TestTimesAreWrittenSoThatTheInstantStays(t *testing.T) {
	t.Parallel()
	at := func(s string) time.Time {
		parsed, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, c := range []struct{ rule, zone, at, wall, name string }{
		{"under the name of Windows", "Europe/Berlin", "2027-03-08T09:00:00Z", "2027-03-08T10:00:00.0000000",
			"W. Europe Standard Time"},
		{"in summer", "Europe/Berlin", "2027-07-08T09:00:00Z", "2027-07-08T11:00:00.0000000",
			"W. Europe Standard Time"},
		{"of an old name", "Asia/Calcutta", "2027-03-08T09:00:00Z", "2027-03-08T14:30:00.0000000",
			"India Standard Time"},
		{"of a new name", "America/Nuuk", "2027-01-08T09:00:00Z", "2027-01-08T07:00:00.0000000",
			"Greenland Standard Time"},
		{"in UTC", "UTC", "2027-03-08T09:00:00Z", "2027-03-08T09:00:00.0000000", "UTC"},
		{"with fractions", "UTC", "2027-03-08T09:00:00.1234567Z", "2027-03-08T09:00:00.1234567", "UTC"},
		{"of a zone without a name of Windows", "Antarctica/Troll", "2027-03-08T09:00:00Z",
			"2027-03-08T09:00:00.0000000", "UTC"},
		{"of no zone", "", "2027-03-08T09:00:00Z", "2027-03-08T09:00:00.0000000", "UTC"},
		{"whose clock comes twice, first", "America/New_York", "2027-11-07T05:30:00Z",
			"2027-11-07T05:30:00.0000000", "UTC"},
		{"whose clock comes twice, then", "America/New_York", "2027-11-07T06:30:00Z",
			"2027-11-07T06:30:00.0000000", "UTC"},
		{"just before that", "America/New_York", "2027-11-07T04:30:00Z", "2027-11-07T00:30:00.0000000",
			"Eastern Standard Time"},
		{"just after that", "America/New_York", "2027-11-07T07:30:00Z", "2027-11-07T02:30:00.0000000",
			"Eastern Standard Time"},
		{"where clocks are not set any more", "America/Vancouver", "2027-01-08T17:00:00Z",
			"2027-01-08T10:00:00.0000000", "Yukon Standard Time"},
		{"nor there", "America/Edmonton", "2027-01-08T17:00:00Z", "2027-01-08T11:00:00.0000000",
			"Canada Central Standard Time"},
		{"nor there, in summer", "America/Winnipeg", "2027-07-08T17:00:00Z", "2027-07-08T12:00:00.0000000",
			"SA Pacific Standard Time"},
		{"where Windows reads the clock otherwise", "Africa/El_Aaiun", "1975-07-08T09:00:00Z",
			"1975-07-08T09:00:00.0000000", "UTC"},
	} {
		from, to := writeSpan(at(c.at), at(c.at), c.zone)
		if *from.DateTime != c.wall || *from.TimeZone != c.name || *to.DateTime != c.wall ||
			*to.TimeZone != c.name {
			t.Errorf("%s: %s %s, want %s %s", c.rule, *from.DateTime, *from.TimeZone, c.wall, c.name)
		}
	}
}

func TestTimesAreRead(t *testing.T) {
	t.Parallel()
	nine := time.Date(2027, 3, 8, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		rule, value, zone, original string
		allDay                      bool
		want                        calendar.Time
	}{
		{"in UTC as asked", "2027-03-08T09:00:00.0000000", "UTC", "W. Europe Standard Time", false,
			calendar.At(nine, "Europe/Berlin")},
		{"with a name of IANA", "2027-03-08T09:00:00.0000000", "UTC", "Europe/Madrid", false,
			calendar.At(nine, "Europe/Madrid")},
		{"with fractions", "2027-03-08T09:00:00.1234567", "UTC", "", false, calendar.At(nine.Add(123456700), "")},
		{"without fractions", "2027-03-08T09:00:00", "UTC", "Nowhere", false, calendar.At(nine, "")},
		{"in another zone than asked", "2027-03-08T10:00:00.0000000", "W. Europe Standard Time", "UTC", false,
			calendar.At(nine, "Etc/UTC")},
		{"with an offset", "2027-03-08T10:00:00.0000000+01:00", "UTC", "", false, calendar.At(nine, "")},
		{"of a custom zone", "2027-03-08T09:00:00.0000000", "UTC", "tzone://Microsoft/Custom", false,
			calendar.At(nine, "")},
		{"of a whole day", "2027-03-08T00:00:00.0000000", "UTC", "Tokyo Standard Time", true,
			calendar.Day(2027, 3, 8)},
		{"of a whole day in any zone", "2027-03-08T00:00:00.0000000", "Tokyo Standard Time", "", true,
			calendar.Day(2027, 3, 8)},
	} {
		got, err := readTime(&graph.DateTimeTimeZone{DateTime: &c.value, TimeZone: &c.zone}, &c.original, c.allDay)
		if err != nil || !got.Instant.Equal(c.want.Instant) || got.Zone != c.want.Zone ||
			got.AllDay != c.want.AllDay {
			t.Errorf("%s: %+v, %v, want %+v", c.rule, got, err, c.want)
		}
	}
	for _, value := range []string{"", "soon", "2027-13-08T09:00:00"} {
		if got, err := readTime(&graph.DateTimeTimeZone{DateTime: &value}, nil, false); err == nil {
			t.Errorf("%q was read as %+v", value, got)
		}
	}
}

func TestAnswersOfAttendeesHaveCommonWords(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"": "needs_action", "none": "needs_action", "notResponded": "needs_action", "organizer": "accepted",
		"accepted": "accepted", "declined": "declined", "tentativelyAccepted": "tentative",
		"somethingNew": "somethingNew",
	} {
		if got := response(&graph.ResponseStatus{Response: &given}); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
	if got := response(nil); got != "needs_action" {
		t.Errorf("no status is %q", got)
	}
}

// The owner's answer is that of the calendar's owner, whoever else is invited.
func TestTheOwnersAnswerIsNotTheAccounts(t *testing.T) {
	t.Parallel()
	nine, office, declined, accepted := "2027-03-08T09:00:00.0000000", "office@example.com", "declined", "accepted"
	e := &graph.Event{
		ID: &office, Start: &graph.DateTimeTimeZone{DateTime: &nine}, End: &graph.DateTimeTimeZone{DateTime: &nine},
		Attendees: []*graph.Attendee{{
			EmailAddress: &graph.EmailAddress{Address: &office}, Status: &graph.ResponseStatus{Response: &declined},
		}},
	}
	for want, status := range map[string]*graph.ResponseStatus{"": nil, "accepted": {Response: &accepted}} {
		e.ResponseStatus = status
		if got, err := toEvent(e, "bob"); err != nil || got.OwnerResponse != want {
			t.Errorf("got %q, %v, want %q", got.OwnerResponse, err, want)
		}
	}
}

func TestASeriesIsItsOwn(t *testing.T) {
	t.Parallel()
	nine, id, master := "2027-03-08T09:00:00.0000000", "AAMk", "AAMkMaster"
	at := &graph.DateTimeTimeZone{DateTime: &nine}
	for kind, want := range map[string]string{"singleInstance": "", "occurrence": master, "seriesMaster": id} {
		e := &graph.Event{ID: &id, Type: &kind, Start: at, End: at}
		if want == master {
			e.SeriesMasterID = &master
		}
		if got, err := toEvent(e, "main"); err != nil || got.SeriesID != want {
			t.Errorf("%s: of the series %q, %v, want %q", kind, got.SeriesID, err, want)
		}
	}
}

func TestWhereAMeetingIs(t *testing.T) {
	t.Parallel()
	join, web := "https://teams.example.com/l/1", "https://outlook.example.com/1"
	for _, c := range []struct{ join, location, uri, want string }{
		{join, "https://meet.example.com/2", "", join},
		{"", "https://meet.example.com/2?a=b#c", "", "https://meet.example.com/2?a=b#c"},
		{"", "Room 3", "https://meet.example.com/3", "https://meet.example.com/3"},
		{"", "Room 3", "room3@example.com", web},
		{"", "https://meet.example.com/4; Room 4", "", "https://meet.example.com/4"},
		{"", "javascript:alert(1)", "", web},
		{"", "https:", "", web},
		{"", "See https://meet.example.com", "", web},
	} {
		e := &graph.Event{
			OnlineMeeting: &graph.OnlineMeetingInfo{JoinURL: &c.join}, WebLink: &web,
			Location: &graph.Location{DisplayName: &c.location, LocationURI: &c.uri},
		}
		if got := link(e); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if got := link(&graph.Event{}); got != "" {
		t.Errorf("nothing is %q", got)
	}
}

func TestTheDescriptionIsTheBodyWithoutHowToJoin(t *testing.T) {
	t.Parallel()
	const join, below = "https://teams.example.com/l/1?a=b&c=d",
		"\r\n________________________________________________________________________________\r\n"
	for _, c := range []struct{ rule, body, join, want string }{
		{"as text", "one\r\ntwo\r\n", "", "one\ntwo"},
		{"with blobs below", "one\r\n" + below + "Join<" + join + ">" + below, join, "one"},
		{"with a rule of its own above", "one" + below + "two" + below + "Join<" + join + ">" + below, join,
			"one" + strings.ReplaceAll(below, "\r\n", "\n") + "two"},
		{"with a short link in the blob", "one\r\n" + below + "Join: https://teams.microsoft.com/meet/29?p=E\r\n" +
			"________________________________\r\nNeed help? | System reference<" + join + ">" + below, join, "one"},
		{"with a blob of another link", "one\r\n" + below + "Join<https://other.example.com>", join,
			"one\n" + strings.ReplaceAll(below, "\r\n", "\n") + "Join<https://other.example.com>"},
		{"with the link alone", "join at " + join, join, "join at " + join},
		{"of a meeting that is not online", "one\r\n" + below + "two", "",
			"one\n" + strings.ReplaceAll(below, "\r\n", "\n") + "two"},
		{"that is empty", "", join, ""},
	} {
		e := &graph.Event{Body: plainBody(c.body), OnlineMeeting: &graph.OnlineMeetingInfo{JoinURL: &c.join}}
		if got := readBody(e); got != c.want {
			t.Errorf("%s: %q, want %q", c.rule, got, c.want)
		}
	}
}

func TestADescriptionIsPutAboveHowToJoin(t *testing.T) {
	t.Parallel()
	const join = "https://teams.example.com/l/1?a=b&c=d"
	const how = `<div style="width:100%"><span style="color:#5F5F5F">________________________________</span></div><div><a href="https://teams.example.com/l/1?a=b&amp;c=d">Join</a></div>`
	got, ok := splice("<html><head><style>p{}</style></head><body><p>Old</p>\r\n<br>"+how+
		"<p>below</p></body></html>", join, "New <b>&\nline")
	want := "<html><body>\r\n<div>New &lt;b&gt;&amp;<br>\r\nline</div>\r\n<br>\r\n" + how +
		"<p>below</p></body></html>"
	if !ok || got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for rule, page := range map[string]string{
		"no link": "<html><body>Old</body></html>", "no rule": "<p>" + join + "</p>", "nothing": "",
	} {
		if got, ok := splice(page, join, "New"); ok {
			t.Errorf("%s: spliced to %s", rule, got)
		}
	}
}

func TestAttendeesWhoStayAreWrittenAsTheyAre(t *testing.T) {
	t.Parallel()
	attendee := func(address, kind string) *graph.Attendee {
		return &graph.Attendee{
			EmailAddress: &graph.EmailAddress{Address: &address, Name: new("Name of " + address)}, Type: &kind,
		}
	}
	bob, eve, room := attendee("Bob@example.com", "optional"), attendee("eve@example.com", "required"),
		attendee("room@example.com", "resource")
	got := merge([]*graph.Attendee{bob, eve, room}, []string{
		"BOB@example.com", "room@EXAMPLE.com", "new@example.com", "bob@example.com",
	})
	if len(got) != 3 || got[0] != bob || got[1] != room || *got[2].EmailAddress.Address != "new@example.com" ||
		*got[2].Type != "required" {
		t.Errorf("%+v", got)
	}
	if got := merge([]*graph.Attendee{bob, eve}, []string{"eve@example.com", "bob@example.com"}); got != nil {
		t.Errorf("the same list is written: %+v", got)
	}
	if got := merge([]*graph.Attendee{bob}, nil); got == nil || len(got) != 0 {
		t.Errorf("an empty list is %v, want one that is written", got)
	}
	if got := merge(nil, nil); got != nil {
		t.Errorf("no list where there is none is %v", got)
	}
}

func TestATransactionIsOfOneKeyInOneCalendar(t *testing.T) {
	t.Parallel()
	one := transactionID("calendar", "key")
	if one != transactionID("calendar", "key") || one == transactionID("calendar", "kez") ||
		one == transactionID("calendas", "key") ||
		transactionID("a", "bc") == transactionID("ab", "c") || len(one) != 36 || one[14] != '8' {
		t.Error(one)
	}
}

func TestWhoHasNoAddressStaysAmongTheGuests(t *testing.T) {
	t.Parallel()
	guest := func(address, name string) *graph.Attendee {
		return &graph.Attendee{EmailAddress: &graph.EmailAddress{Address: &address, Name: &name}}
	}
	now := []*graph.Attendee{
		guest("Bob <bob@example.com>", "Bob"), {EmailAddress: &graph.EmailAddress{Name: new("Blue room")}}, {},
		guest("Jane Doe", "Jane Doe"), guest("/o=ExchangeLabs/cn=Recipients/cn=7f-kim", "Kim"),
	}
	keys := func(list []*graph.Attendee) (all []string) {
		for _, a := range list {
			all = append(all, attendeeKey(a))
		}
		return all
	}
	unnamed := []string{"", "", "jane doe", "/o=exchangelabs/cn=recipients/cn=7f-kim"}
	for _, c := range []struct{ want, written []string }{
		{[]string{"BOB@example.com"}, nil},
		{[]string{"bob@example.com", "eve@example.com"}, append(unnamed, "bob@example.com", "eve@example.com")},
		{[]string{"eve@example.com"}, append(unnamed, "eve@example.com")},
	} {
		if got := keys(merge(now, c.want)); !slices.Equal(got, c.written) {
			t.Errorf("to invite %q, %q are written, want %q", c.want, got, c.written)
		}
	}
	if got := merge(now[1:], nil); got == nil || len(got) > 0 {
		t.Errorf("to invite nobody, %q are written", keys(got))
	}
}

func TestAGuestHasTheAddressWithinItsName(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"jane@example.com": "jane@example.com", "Jane Doe <jane@example.com>": "jane@example.com", "Jane Doe": "Jane Doe",
		"<jane@example.com>": "jane@example.com", "": "", ">": ">", "a>b<": "a>b<",
	} {
		if got := person(&graph.EmailAddress{Address: &given}).Email; got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}
