package signin_test

import (
	"testing"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/signin"
)

func reasonOf(err error) string {
	if f := fault.From(err); f != nil {
		return f.Reason
	}
	return ""
}

func TestGrants(t *testing.T) {
	for entry, want := range map[string]signin.Grant{
		"pat@example.com=admin": {Claim: "email", Value: "pat@example.com", Role: apikey.RoleAdmin},
		"lee@acme.example=viewer@acme": {Claim: "email", Value: "lee@acme.example", Role: apikey.RoleViewer,
			Tenant: "acme"},
		"groups:urn:x=y:z=admin":      {Claim: "groups", Value: "urn:x=y:z", Role: apikey.RoleAdmin},
		"email:pat@example.com=admin": {Claim: "email", Value: "pat@example.com", Role: apikey.RoleAdmin},
	} {
		if got, err := signin.ParseGrant(entry); err != nil || got != want {
			t.Errorf("%s: %+v, %v", entry, got, err)
		}
	}
	for _, entry := range []string{
		"", "pat@example.com", "pat@example.com=", "pat@example.com=root", "pat=admin", "=admin", ":x=admin",
		"groups:=admin", "pat@example.com=admin@", "@",
	} {
		if got, err := signin.ParseGrant(entry); err == nil {
			t.Errorf("%q is read as %+v", entry, got)
		}
	}
}
