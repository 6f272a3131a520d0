package microsoft

import (
	"net/url"
	"slices"
	"testing"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/adapter"
)

var public = adapter.Addresses{
	"api_url": "https://graph.microsoft.com/v1.0", "authority": "https://login.microsoftonline.com/common",
}

func TestHowTokensAreHad(t *testing.T) {
	t.Parallel()
	national := adapter.Addresses{
		"api_url": "https://graph.microsoft.us/v1.0", "authority": "https://login.microsoftonline.us/common/",
	}
	for rule, c := range map[string]struct {
		s      settings
		at     adapter.Addresses
		flow   adapter.Flow
		token  string
		scopes []string
	}{
		"by consent, of any directory": {settings{}, public, adapter.Consent,
			"https://login.microsoftonline.com/common/oauth2/v2.0/token",
			[]string{"offline_access", "User.Read", "Calendars.ReadWrite"}},
		"by consent, of one directory": {settings{Directory: "contoso.onmicrosoft.com"}, public, adapter.Consent,
			"https://login.microsoftonline.com/contoso.onmicrosoft.com/oauth2/v2.0/token",
			[]string{"offline_access", "User.Read", "Calendars.ReadWrite"}},
		"by application permissions": {settings{Mailbox: "desk@contoso.com", Directory: "contoso.onmicrosoft.com"},
			public, adapter.ClientCredentials,
			"https://login.microsoftonline.com/contoso.onmicrosoft.com/oauth2/v2.0/token",
			[]string{"https://graph.microsoft.com/.default"}},
		"of a national cloud": {settings{Mailbox: "desk@contoso.us", Directory: "d"}, national,
			adapter.ClientCredentials,
			"https://login.microsoftonline.us/d/oauth2/v2.0/token", []string{"https://graph.microsoft.us/.default"}},
	} {
		g, err := grant(c.s, c.at)
		if err != nil || g.Flow != c.flow || g.TokenURL != c.token || !slices.Equal(g.ScopeNames(), c.scopes) {
			t.Errorf("%s: %+v, %v", rule, g, err)
		}
		if g.Flow == adapter.Consent && g.Rotation != adapter.RotationOverlapping {
			t.Errorf("%s: of refresh tokens it says %q", rule, g.Rotation)
		}
	}
	for rule, s := range map[string]settings{
		"a mailbox without its directory": {Mailbox: "desk@contoso.com"},
		"a mailbox with a refresh token":  {Mailbox: "desk@contoso.com", Directory: "d", RefreshToken: "r"},
		"a directory that is a path":      {Directory: "../evil"},
		"a directory that is another":     {Directory: ".."},
	} {
		if g, err := grant(s, public); err == nil {
			t.Errorf("%s: %+v", rule, g)
		}
	}
}

// A directory that a tenant names stays a part of the path, even if the authority has no path.
func TestADirectoryIsNoHost(t *testing.T) {
	t.Parallel()
	at := adapter.Addresses{"authority": "https://login.example"}
	for _, directory := range []string{"evil.example", "evil.example:443", "user@evil.example", "d"} {
		g, err := grant(settings{Directory: directory}, at)
		if err != nil {
			continue
		}
		if u, err := url.Parse(g.TokenURL); err != nil || u.Host != "login.example" {
			t.Errorf("%s: the token URL is %s", directory, g.TokenURL)
		}
	}
}

func TestTheUsualKindOfMeetingIsAskedForIfItIsAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allowed []string
		usual   string
		want    string
	}{
		{[]string{"skypeForBusiness", "teamsForBusiness"}, "skypeForBusiness", "skypeForBusiness"},
		{[]string{"skypeForBusiness", "teamsForBusiness"}, "unknown", "teamsForBusiness"},
		{[]string{"teamsForBusiness"}, "skypeForConsumer", "teamsForBusiness"},
		{[]string{"skypeForConsumer"}, "unknown", "skypeForConsumer"},
		{[]string{"unknown"}, "unknown", ""},
		{nil, "teamsForBusiness", ""},
	} {
		if got := meetingProvider(&graph.Calendar{
			AllowedOnlineMeetingProviders: c.allowed, DefaultOnlineMeetingProvider: &c.usual,
		}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
