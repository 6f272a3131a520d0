package api

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"frontdesk/core/service"
)

func TestBetaRefusesInputByPlace(t *testing.T) {
	g := startGateway(t)
	for _, c := range []struct {
		rule, method, path, body string
		want                     map[string]string
	}{
		{"an unknown property", "PATCH", numberPath, `{"namen":"x"}`,
			map[string]string{"body.namen": "did you mean name?"}},
		{"other case is another property", "PATCH", numberPath, `{"NAME":"x"}`,
			map[string]string{"body.NAME": "did you mean name?"}},
		{"a read-only property is unknown", "PATCH", numberPath, `{"e164":"+14155550123"}`,
			map[string]string{"body.e164": "is not a field"}},
		{"a strange property is quoted", "PATCH", numberPath, `{"path.id":1}`,
			map[string]string{`body["path.id"]`: "is not a field"}},
		{"name is a string", "PATCH", numberPath, `{"name":5}`,
			map[string]string{"body.name": "must be a string, not a number"}},
		{"name is not null", "PATCH", numberPath, `{"name":null}`,
			map[string]string{"body.name": "must be a string, not null"}},
		{"name is not empty", "PATCH", numberPath, `{"name":""}`,
			map[string]string{"body.name": "must not be blank"}},
		{"name is not blank", "PATCH", numberPath, `{"name":" \t "}`,
			map[string]string{"body.name": "must not be blank"}},
		{"name has 64 characters", "PATCH", numberPath, `{"name":"` + strings.Repeat("ü", 65) + `"}`,
			map[string]string{"body.name": "is 65 characters long, at most 64"}},
		{"name has no control characters", "PATCH", numberPath, `{"name":"a\u0007b"}`,
			map[string]string{"body.name": "U+0007"}},
		{"name is one line", "PATCH", numberPath, `{"name":"a\nb"}`, map[string]string{"body.name": "one line"}},
		{"an id is an integer", "PATCH", numberPath, `{"inbound_cloud_employee_id":"7"}`,
			map[string]string{"body.inbound_cloud_employee_id": "must be an integer or null, not a string"}},
		{"1.5 is no integer", "PATCH", numberPath, `{"inbound_cloud_employee_id":1.5}`,
			map[string]string{"body.inbound_cloud_employee_id": "without a fraction or an exponent"}},
		{"above 2^53 a float may be another number", "PATCH", numberPath, `{"outbound_cloud_employee_id":9007199254740993.0}`,
			map[string]string{"body.outbound_cloud_employee_id": "without a fraction or an exponent"}},
		{"a float may have no end", "PATCH", numberPath, `{"outbound_cloud_employee_id":1e999}`,
			map[string]string{"body.outbound_cloud_employee_id": "without a fraction or an exponent"}},
		{"an id fits into 64 bits", "PATCH", numberPath, `{"outbound_cloud_employee_id":9223372036854775808}`,
			map[string]string{"body.outbound_cloud_employee_id": "range"}},
		{"true is no integer", "POST", numbersPath, `{"area_code":"415","inbound_cloud_employee_id":true}`,
			map[string]string{"body.inbound_cloud_employee_id": "must be an integer, not a boolean"}},
		{"there is nothing to unassign when buying", "POST", numbersPath,
			`{"area_code":"415","outbound_cloud_employee_id":null}`,
			map[string]string{"body.outbound_cloud_employee_id": "not null"}},
		{"buying needs an area code", "POST", numbersPath, `{"name":"x"}`,
			map[string]string{"body.area_code": "is required"}},
		{"an area code has three digits", "POST", numbersPath, `{"area_code":"4155"}`,
			map[string]string{"body.area_code": "three digits"}},
		{"an area code is not empty", "POST", numbersPath, `{"area_code":""}`,
			map[string]string{"body.area_code": "three digits"}},
		{"an area code starts with 2 to 9", "POST", numbersPath, `{"area_code":"115"}`,
			map[string]string{"body.area_code": "2 to 9"}},
		{"an area code is a string", "POST", numbersPath, `{"area_code":415}`,
			map[string]string{"body.area_code": "must be a string"}},
		{"an area code is assigned", "POST", numbersPath, `{"area_code":"999"}`,
			map[string]string{"body.area_code": "is not an assigned geographic area code"}},
		{"the id of the path is an integer", "GET", numbersPath + "/abc", "",
			map[string]string{"path.id": "64-bit integer"}},
		{"the id of the path is no float", "DELETE", numbersPath + "/1.0", "",
			map[string]string{"path.id": "64-bit integer"}},
		{"the id of the path has one spelling", "GET", numbersPath + "/007", "",
			map[string]string{"path.id": "64-bit integer"}},
		{"the id of the path has no plus", "GET", numbersPath + "/+7", "",
			map[string]string{"path.id": "64-bit integer"}},
		{"the id of the path fits into 64 bits", "GET", numbersPath + "/9223372036854775808", "",
			map[string]string{"path.id": "64-bit integer"}},
		{"every fault is told at once", "PATCH", numbersPath + "/x",
			`{"nam":1,"name":"","inbound_cloud_employee_id":[]}`,
			map[string]string{"path.id": "", "body.nam": "", "body.name": "",
				"body.inbound_cloud_employee_id": "not an array"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a := g.send(c.method, c.path, c.body)
			p := a.problem()
			if a.status != http.StatusUnprocessableEntity || p.Status != 422 || p.slug() != "invalid-request" ||
				p.Title != "The request is not valid" {
				t.Fatalf("%d %s", a.status, a.body)
			}
			got := p.locations()
			for location, part := range c.want {
				detail, found := got[location]
				if !found || !strings.Contains(detail, part) {
					t.Errorf("%s: said %q, want %q", location, detail, part)
				}
				delete(got, location)
			}
			if len(got) > 0 {
				t.Errorf("it also says %v", got)
			}
		})
	}
	if g.calls != 0 {
		t.Errorf("%d of them reached a use case", g.calls)
	}
}

func TestOnlyShortScalarsOfKnownFieldsAreEchoed(t *testing.T) {
	g := startGateway(t)
	for _, c := range []struct{ rule, method, path, body, location, value string }{
		{"a short string", "POST", numbersPath, `{"area_code":"000"}`, "body.area_code", `"000"`},
		{"a number", "PATCH", numberPath, `{"name":5}`, "body.name", `5`},
		{"a number that no double holds", "PATCH", numberPath, `{"name":-1e999}`, "body.name", ""},
		{"a parameter of the path", "GET", numbersPath + "/abc", "", "path.id", `"abc"`},
		{"a long string", "PATCH", numberPath, `{"name":"` + strings.Repeat("x", 65) + `"}`, "body.name", ""},
		{"an object", "PATCH", numberPath, `{"name":{"a":1}}`, "body.name", ""},
		{"an array", "PATCH", numberPath, `{"name":[1]}`, "body.name", ""},
		{"an unknown field", "PATCH", numberPath, `{"password":"hunter2"}`, "body.password", ""},
	} {
		for _, e := range g.send(c.method, c.path, c.body).problem().Errors {
			if e.Location == c.location && string(e.Value) != c.value {
				t.Errorf("%s: %s", c.rule, e.Value)
			}
		}
	}
}

func TestBetaHandsCheckedInputToTheUseCase(t *testing.T) {
	g := startGateway(t)
	seven, zero, least := int64(7), int64(0), int64(-9223372036854775808)
	name := "Night line"
	for _, c := range []struct {
		rule, method, path, body string
		status                   int
		want                     any
	}{
		{"an empty merge", "PATCH", numberPath, `{}`, 200, service.UpdateNumber{ID: 4711}},
		{"a name is trimmed", "PATCH", numberPath, `{"name":"  Night line\n"}`, 200,
			service.UpdateNumber{ID: 4711, Name: &name}},
		{"null clears, absent stays", "PATCH", numberPath, `{"inbound_cloud_employee_id":null}`, 200,
			service.UpdateNumber{ID: 4711, Inbound: service.EmployeeChange{Set: true}}},
		{"a number assigns", "PATCH", numberPath, `{"outbound_cloud_employee_id":7}`, 200,
			service.UpdateNumber{ID: 4711, Outbound: service.EmployeeChange{Set: true, ID: &seven}}},
		{"an id is whatever int64 the agent platform uses", "PATCH", numberPath,
			`{"inbound_cloud_employee_id":0,"outbound_cloud_employee_id":-9223372036854775808}`, 200,
			service.UpdateNumber{ID: 4711, Inbound: service.EmployeeChange{Set: true, ID: &zero},
				Outbound: service.EmployeeChange{Set: true, ID: &least}}},
		{"a number may be written as a double", "PATCH", numberPath,
			`{"inbound_cloud_employee_id":-0.0,"outbound_cloud_employee_id":0.7e1}`, 200,
			service.UpdateNumber{ID: 4711, Inbound: service.EmployeeChange{Set: true, ID: &zero},
				Outbound: service.EmployeeChange{Set: true, ID: &seven}}},
		{"buy", "POST", numbersPath, `{"area_code":"415","name":" Night line ","inbound_cloud_employee_id":7}`, 201,
			service.BuyNumber{AreaCode: "415", Name: "Night line", Inbound: &seven}},
		{"get", "GET", numberPath, "", 200, int64(4711)},
		{"a negative id is looked for", "GET", numbersPath + "/-1", "", 200, int64(-1)},
		{"release", "DELETE", numberPath, "", 204, int64(4711)},
		{"a body of DELETE means nothing", "DELETE", numberPath, "garbage", 204, int64(4711)},
	} {
		if a := g.send(c.method, c.path, c.body); a.status != c.status {
			t.Errorf("%s: %d %s", c.rule, a.status, a.body)
		}
		if !reflect.DeepEqual(g.input, c.want) {
			t.Errorf("%s: the use case got %#v, want %#v", c.rule, g.input, c.want)
		}
	}
}
