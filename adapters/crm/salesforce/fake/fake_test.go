package fake_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/adapters/crm/salesforce/fake"
	"frontdesk/core/oauth/oauthtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	client = "app"
	secret = "fake secret"
	user   = "alice@acme.example"
	key    = "Key__c"
)

// org is a running fake.
type org struct {
	*fake.Server
	t          *testing.T
	url, token string
}

func serve(t *testing.T, o fake.Options) *org {
	t.Helper()
	o.OAuth = oauthtest.Options{Clients: map[string]string{client: secret}}
	server := fake.New(o)
	served := httptest.NewServer(server)
	t.Cleanup(served.Close)
	s := &org{Server: server, t: t, url: served.URL}
	status, body := s.ask(url.Values{
		"grant_type": {"client_credentials"}, "client_id": {client}, "client_secret": {secret},
	})
	if s.token, _ = body["access_token"].(string); status != http.StatusOK || s.token == "" ||
		body["instance_url"] != s.url {
		t.Fatalf("no token: %d %v", status, body)
	}
	if body["expires_in"] != nil {
		t.Error("the life of a token is told")
	}
	return s
}

// ask requests a token.
func (s *org) ask(form url.Values) (status int, body map[string]any) {
	s.t.Helper()
	answer, err := http.PostForm(s.url+fake.TokenPath, form)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, body
}

// call sends a request to the API and returns the response body as text.
func (s *org) call(method, resource, body string) (status int, text string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+"/services/data/v62.0/"+resource,
		strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

func TestSearches(t *testing.T) {
	s := serve(t, fake.Options{})
	s.AddContact(fake.Person{Name: "Pat", Phone: "+1 (513) 555-7611", Account: "Acme"})
	for _, c := range []struct {
		rule, sosl string
		status     int
		says       string
	}{
		{"the digits as one word", `FIND {15135557611} IN PHONE FIELDS RETURNING Contact(Name LIMIT 2)`, 200, "Pat"},
		{"groups as a phrase", `FIND {12 OR "513 555"} IN PHONE FIELDS RETURNING Contact(Account.Name LIMIT 2)`, 200,
			`"Name":"Acme"`},
		{"a part of a word", `FIND {55} IN PHONE FIELDS RETURNING Contact(Id LIMIT 2)`, 200, `"searchRecords":[]`},
		{"a reserved character", `FIND {+15135557611} IN PHONE FIELDS RETURNING Contact(Id LIMIT 2)`, 400,
			"MALFORMED_SEARCH"},
		{"a term of one character", `FIND {5} IN PHONE FIELDS RETURNING Contact(Id LIMIT 2)`, 400, "MALFORMED_SEARCH"},
		{"words side by side", `FIND {513 555} IN PHONE FIELDS RETURNING Contact(Id LIMIT 2)`, 400, "MALFORMED_SEARCH"},
		{"a phrase without an end", `FIND {"513 555} IN PHONE FIELDS RETURNING Contact(Id LIMIT 2)`, 400,
			"MALFORMED_SEARCH"},
		{"no limit", `FIND {5135557611} IN PHONE FIELDS RETURNING Contact(Id)`, 400, "MALFORMED_SEARCH"},
		{"a field that is unknown", `FIND {513} IN PHONE FIELDS RETURNING Contact(Shoe LIMIT 2)`, 400, "INVALID_FIELD"},
	} {
		status, body := s.call(http.MethodGet, "search/?q="+url.QueryEscape(c.sosl), "")
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", c.rule, status, body)
		}
	}
}

func TestQueries(t *testing.T) {
	s := serve(t, fake.Options{})
	id := s.Add(map[string]any{"CaseNumber": "1", "Subject": `It's a \ pipe`, "Status": "New"})
	s.Add(map[string]any{"CaseNumber": "2", "Subject": "Another"})
	for _, body := range []string{"First", "Second"} {
		if err := s.Comment(id, body, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		rule, soql string
		status     int
		says       string
	}{
		{"an escaped text", `SELECT CaseNumber FROM Case WHERE Subject = 'It\'s a \\ pipe'`, 200,
			`"CaseNumber":"1"`},
		{"no regard to case", `SELECT CaseNumber FROM Case WHERE Subject = 'ANOTHER'`, 200, `"CaseNumber":"2"`},
		{"order and limit", `SELECT CaseNumber FROM Case WHERE Id != '` + id + `' ORDER BY CaseNumber DESC LIMIT 1`,
			200, `"CaseNumber":"2"`},
		{"children", `SELECT Id, (SELECT CommentBody FROM CaseComments WHERE IsPublished = true ORDER BY CreatedDate DESC, Id DESC LIMIT 1) FROM Case WHERE Id = '` + id + `'`, 200, `"CommentBody":"Second"`},
		{"no children are null", `SELECT (SELECT Body FROM Feeds) FROM Case LIMIT 1`, 200, `"Feeds":null`},
		{"the organisation", `SELECT Name FROM Organization LIMIT 1`, 200, `"Name":"Acme"`},
		{"one of several", `SELECT CaseNumber FROM Case WHERE IsClosed = false AND (Subject = 'x' OR Subject LIKE 'an_th%')`,
			200, `"CaseNumber":"2"`},
		{"or beside and", `SELECT Id FROM Case WHERE IsClosed = false AND Subject = 'x' OR Subject = 'y'`, 400,
			"MALFORMED_QUERY"},
		{"an id of another kind of text", `SELECT Id FROM Case WHERE ContactId = '1'`, 400, "invalid ID field"},
		{"a quote that is not escaped", `SELECT Id FROM Case WHERE CaseNumber = '1''`, 400, "MALFORMED_QUERY"},
		{"a backslash that escapes nothing", `SELECT Id FROM Case WHERE CaseNumber = '\q'`, 400, "MALFORMED_QUERY"},
		{"a condition behind a quote", `SELECT Id FROM Case WHERE CaseNumber = '' OR Id != ''`, 400,
			"MALFORMED_QUERY"},
		{"a word in the place of a text", `SELECT Id FROM Case WHERE CaseNumber = CaseNumber`, 400,
			"MALFORMED_QUERY"},
		{"a comment", `SELECT Id FROM Case -- all`, 400, "MALFORMED_QUERY"},
		{"nothing", ``, 400, "MALFORMED_QUERY"},
		{"a star", `SELECT * FROM Case`, 400, "MALFORMED_QUERY"},
		{"an unknown field", `SELECT Nothing FROM Case`, 400, "INVALID_FIELD"},
		{"an unknown field of children", `SELECT (SELECT Nothing FROM Feeds) FROM Case`, 400, "INVALID_FIELD"},
		{"an unknown kind", `SELECT Id FROM Lead`, 400, "INVALID_TYPE"},
		{"unknown children", `SELECT (SELECT Id FROM Leads) FROM Case`, 400, "INVALID_TYPE"},
		{"an id that is none", `SELECT Id FROM Case WHERE Id = '1'`, 400, "INVALID_QUERY_FILTER_OPERATOR"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			status, text := s.call(http.MethodGet, "query?q="+url.QueryEscape(c.soql), "")
			if status != c.status || !strings.Contains(text, c.says) {
				t.Errorf("answered %d %s, want %d %s", status, text, c.status, c.says)
			}
		})
	}
}

func TestALongListComesInBatches(t *testing.T) {
	s := serve(t, fake.Options{BatchSize: 2})
	for _, number := range []string{"1", "2", "3", "4", "5"} {
		s.Add(map[string]any{"CaseNumber": number})
	}
	next := "query?q=" + url.QueryEscape("SELECT CaseNumber FROM Case ORDER BY CaseNumber")
	for _, want := range []string{"12", "34", "5"} {
		status, text := s.call(http.MethodGet, next, "")
		var batch struct {
			Total   int                           `json:"totalSize"`
			Done    bool                          `json:"done"`
			Next    string                        `json:"nextRecordsUrl"`
			Records []struct{ CaseNumber string } `json:"records"`
		}
		if err := json.Unmarshal([]byte(text), &batch); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, r := range batch.Records {
			got.WriteString(r.CaseNumber)
		}
		if last := want == "5"; status != http.StatusOK || got.String() != want || batch.Total != 5 ||
			batch.Done != last || (batch.Next == "") != last {
			t.Errorf("answered %d %s, want %s", status, text, want)
		}
		if batch.Next != "" {
			next = strings.TrimPrefix(batch.Next, "/services/data/v62.0/")
		}
	}
	for _, wrong := range []string{"query/01gdM0000000001QAA-2", next + "0", next + "?q=SELECT+Id+FROM+Case"} {
		if status, text := s.call(http.MethodGet, wrong, ""); status != http.StatusBadRequest ||
			!strings.Contains(text, "INVALID_QUERY_LOCATOR") {
			t.Errorf("%s: answered %d %s", wrong, status, text)
		}
	}
}

func TestWrites(t *testing.T) {
	for _, c := range []struct {
		rule, method, resource, body string
		status                       int
		says                         string
		cases                        int
	}{
		{"a case", "POST", "sobjects/Case", `{"Subject":"A pipe"}`, 201, `"success":true`, 1},
		{"a case of a key", "PATCH", "sobjects/Case/Key__c/k1", `{"Subject":"A pipe"}`, 201, `"created":true`, 1},
		{"another field for keys", "PATCH", "sobjects/Case/Other__c/k1", `{"Subject":"A pipe"}`, 404,
			"NOT_FOUND", 0},
		{"no JSON", "POST", "sobjects/Case", `{`, 400, "JSON_PARSER_ERROR", 0},
		{"an unknown field", "POST", "sobjects/Case", `{"Colour":"red"}`, 400, "INVALID_FIELD", 0},
		{"a number of one's own", "POST", "sobjects/Case", `{"CaseNumber":"1"}`, 400,
			"INVALID_FIELD_FOR_INSERT_UPDATE", 0},
		{"a type", "POST", "sobjects/Case", `{"Subject":7}`, 400, "JSON_PARSER_ERROR", 0},
		{"a length", "POST", "sobjects/Case", `{"Subject":"` + strings.Repeat("a", 256) + `"}`, 400,
			"STRING_TOO_LONG", 0},
		{"a picklist", "POST", "sobjects/Case", `{"Priority":"P1"}`, 400,
			"INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", 0},
		{"an id's form", "POST", "sobjects/Case", `{"OwnerId":"me"}`, 400, "MALFORMED_ID", 0},
		{"an id's kind", "POST", "sobjects/Case", `{"OwnerId":"` + fake.Account + `"}`, 400, "MALFORMED_ID", 0},
		{"an id of nothing", "POST", "sobjects/Case", `{"OwnerId":"` + fake.RecordID("005", 9) + `"}`, 400,
			"INVALID_CROSS_REFERENCE_KEY", 0},
		{"an unknown resource", "POST", "sobjects/Lead", `{}`, 404, "NOT_FOUND", 0},

		{"a composite call", "POST", "composite", `{"allOrNone":true,"compositeRequest":[
			{"method":"POST","url":"/services/data/v62.0/sobjects/Case","referenceId":"a","body":{"Subject":"A pipe"}},
			{"method":"GET","url":"/services/data/v62.0/query?q=SELECT+CaseNumber+FROM+Case+WHERE+Id='@{a.id}'","referenceId":"b"}]}`, 200, `"CaseNumber":"00001001"`, 1},
		{"all or nothing", "POST", "composite", `{"allOrNone":true,"compositeRequest":[
			{"method":"POST","url":"/services/data/v62.0/sobjects/Case","referenceId":"a","body":{"Subject":"A pipe"}},
			{"method":"GET","url":"/services/data/v62.0/query?q=SELECT+Nothing+FROM+Case","referenceId":"b"}]}`, 200,
			"PROCESSING_HALTED", 0},
		{"not all", "POST", "composite", `{"compositeRequest":[
			{"method":"POST","url":"/services/data/v62.0/sobjects/Case","referenceId":"a","body":{"Subject":"A pipe"}},
			{"method":"GET","url":"/services/data/v62.0/query?q=SELECT+Nothing+FROM+Case","referenceId":"b"}]}`, 200,
			"INVALID_FIELD", 1},
		{"a reference to nothing", "POST", "composite",
			`{"allOrNone":true,"compositeRequest":[{"method":"GET","url":"/services/data/v62.0/query?q=@{a.id}","referenceId":"b"}]}`, 200, "Invalid reference", 0},
		{"another version within", "POST", "composite",
			`{"compositeRequest":[{"method":"GET","url":"/services/data/v61.0/sobjects/Case/describe","referenceId":"b"}]}`, 200, "NOT_FOUND", 0},
		{"a header that is inherited", "POST", "composite",
			`{"compositeRequest":[{"method":"GET","url":"/x","referenceId":"b","httpHeaders":{"Authorization":"x"}}]}`,
			400, "INVALID_HTTP_HEADER", 0},
		{"an unknown property", "POST", "composite",
			`{"compositeRequest":[{"method":"GET","url":"/x","referenceId":"b","headers":{}}]}`, 400,
			"JSON_PARSER_ERROR", 0},
		{"no parts", "POST", "composite", `{"compositeRequest":[]}`, 400, "LIMIT_EXCEEDED", 0},
		{"a composite call within", "POST", "composite",
			`{"compositeRequest":[{"method":"POST","url":"/services/data/v62.0/composite","referenceId":"b","body":{}}]}`, 200, "NOT_FOUND", 0},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{ExternalID: key})
			status, body := s.call(c.method, c.resource, c.body)
			if status != c.status || !strings.Contains(body, c.says) {
				t.Errorf("answered %d %s, want %d %s", status, body, c.status, c.says)
			}
			if made, _ := s.Tickets(t.Context()); made != c.cases {
				t.Errorf("there are %d cases, want %d", made, c.cases)
			}
		})
	}
}

func TestAnUpsertChangesTheCaseThatHasTheKey(t *testing.T) {
	s := serve(t, fake.Options{ExternalID: key})
	id := s.Add(map[string]any{key: "k1", "Subject": "Old"})
	if status, body := s.call(http.MethodPatch, "sobjects/Case/Key__c/K1", `{"Subject":"New"}`); status != 200 ||
		!strings.Contains(body, `"created":false`) {
		t.Errorf("answered %d %s", status, body)
	}
	if c := s.Case(id); c["Subject"] != "New" || c["OwnerId"] != fake.DefaultOwner {
		t.Errorf("the case is %v", c)
	}
	s.Add(map[string]any{key: "k1"})
	if status, body := s.call(http.MethodPatch, "sobjects/Case/Key__c/k1",
		`{"Subject":"New"}`); status != http.StatusMultipleChoices {
		t.Errorf("two cases of a key are answered with %d %s", status, body)
	}
}

func TestAssertions(t *testing.T) {
	pair, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, fake.Options{Certificates: map[string]*rsa.PublicKey{client: &pair.PublicKey}})
	for _, c := range []struct {
		rule               string
		issuer, user, aud  string
		life               time.Duration
		signer             *rsa.PrivateKey
		wrong              string
		withoutAnAssertion bool
	}{
		{rule: "as documented", issuer: client, user: user, aud: "https://login.salesforce.com",
			life: 3 * time.Minute, signer: pair},
		{rule: "of an emulator", issuer: client, user: user, aud: s.url, life: 3 * time.Minute, signer: pair},
		{rule: "without any", withoutAnAssertion: true, signer: pair, wrong: "invalid assertion"},
		{rule: "of an unknown app", issuer: "other", user: user, aud: s.url, life: time.Minute, signer: pair,
			wrong: "client identifier"},
		{rule: "with another key", issuer: client, user: user, aud: s.url, life: time.Minute, signer: other,
			wrong: "signature"},
		{rule: "for another server", issuer: client, user: user, aud: s.url + fake.TokenPath, life: time.Minute,
			signer: pair, wrong: "audience"},
		{rule: "that has ended", issuer: client, user: user, aud: s.url, life: -time.Minute, signer: pair,
			wrong: "expired"},
		{rule: "that lasts", issuer: client, user: user, aud: s.url, life: time.Hour, signer: pair,
			wrong: "expired"},
		{rule: "for nobody", issuer: client, user: "mallory@acme.example", aud: s.url, life: time.Minute,
			signer: pair, wrong: "approved"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			part := func(v any) string {
				text, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				return base64.RawURLEncoding.EncodeToString(text)
			}
			signed := part(map[string]any{"alg": "RS256"}) + "." +
				part(map[string]any{"iss": c.issuer, "sub": c.user, "aud": c.aud, "exp": time.Now().Add(c.life).Unix()})
			sum := sha256.Sum256([]byte(signed))
			signature, err := rsa.SignPKCS1v15(nil, c.signer, crypto.SHA256, sum[:])
			if err != nil {
				t.Fatal(err)
			}
			assertion := signed + "." + base64.RawURLEncoding.EncodeToString(signature)
			if c.withoutAnAssertion {
				assertion = ""
			}
			status, body := s.ask(url.Values{
				"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion},
			})
			why, _ := body["error_description"].(string)
			if c.wrong == "" && (status != http.StatusOK || body["access_token"] == nil ||
				body["instance_url"] != s.url) ||
				c.wrong != "" && (body["error"] != "invalid_grant" || !strings.Contains(why, c.wrong)) {
				t.Errorf("answered %d %v, want %q", status, body, c.wrong)
			}
		})
	}
}

func TestAnAppForItselfAsksForNoScope(t *testing.T) {
	s := serve(t, fake.Options{})
	status, body := s.ask(url.Values{
		"grant_type": {"client_credentials"}, "client_id": {client}, "client_secret": {secret}, "scope": {"api"},
	})
	if status != http.StatusBadRequest || body["error"] != "invalid_request" {
		t.Errorf("answered %d %v", status, body)
	}
}

func TestIDsAreSafeWhereCaseIsLost(t *testing.T) {
	for id, want := range map[string]string{
		fake.RecordID("500", 1): "500dM0000000001QAA", fake.RecordID("00G", 1): "00GdM0000000001UAA",
	} {
		if id != want {
			t.Errorf("made %s, want %s", id, want)
		}
	}
}
