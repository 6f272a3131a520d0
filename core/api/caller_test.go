package api

import (
	"net/http"
	"reflect"
	"testing"

	"frontdesk/core/phonenumber"
	"frontdesk/core/service"
)

func TestLookUpInput(t *testing.T) {
	pat := phonenumber.Number{E164: "+12025550101", CountryCode: "1", National: "2025550101"}
	for body, want := range map[string]any{
		`{"phone_number":"+12025550101"}`:                     service.LookUpCaller{Phone: pat},
		`{"phone_number":" tel:+1-202-555-0101 ","email":""}`: service.LookUpCaller{Phone: pat},
		`{"phone_number":"anonymous"}`:                        service.LookUpCaller{Withheld: true},
		`{"phone_number":"+266696687"}`:                       service.LookUpCaller{Withheld: true},
		`{"phone_number":"sip:pat@example.com"}`:              service.LookUpCaller{Withheld: true},
		`{"email":"Pat@Example.com"}`:                         service.LookUpCaller{Email: "pat@example.com"},
		`{}`:                                                  "phone_number",
		``:                                                    "phone_number",
		`{"phone_number":"  "}`:                               "phone_number",
		`{"phone_number":"2025550101"}`:                       "phone_number",
		`{"phone_number":"+1 202"}`:                           "phone_number",
		`{"phone_number":"' OR 1=1 --"}`:                      "phone_number",
		`{"phone_number":5}`:                                  "phone_number",
		`{"email":"nobody"}`:                                  "email",
		`{"phone_number":"+12025550101","email":"p@example.com"}`: "email",
		`{"phone":"+12025550101"}`:                                `phone`,
	} {
		g := startGateway(t)
		a := g.post("/alpha/callers/look-up", body)
		path, refused := want.(string)
		if !refused {
			if a.status != http.StatusOK || !reflect.DeepEqual(g.input, want) {
				t.Errorf("%s: %d, %+v", body, a.status, g.input)
			}
			continue
		}
		if fields := a.v1().violations(); a.status != http.StatusBadRequest || g.calls != 0 || fields[path] == "" {
			t.Errorf("%s: %d, %v", body, a.status, fields)
		}
	}
}
