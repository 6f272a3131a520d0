package fake

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"frontdesk/core/adapter/adaptertest"
)

func TestTheProgramPrintsHowToConnect(t *testing.T) {
	const prefix = "FRONTDESK_PROVIDERS__SALESFORCE__"
	printed := adaptertest.Start(t, Program, prefix+"CLIENT_ID", prefix+"CLIENT_SECRET", prefix+"LOGIN_URL")
	base := printed[prefix+"LOGIN_URL"]
	answer, err := http.PostForm(base+"/services/oauth2/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {printed[prefix+"CLIENT_ID"]},
		"client_secret": {printed[prefix+"CLIENT_SECRET"]},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK ||
		!strings.Contains(string(body), `"instance_url":"`+base+`"`) {
		t.Errorf("a token is answered with %d %s", answer.StatusCode, body)
	}
	if status, _ := adaptertest.Get(t, base+"/services/data/v62.0/sobjects/Case/describe",
		nil); status != http.StatusUnauthorized {
		t.Errorf("the API answers nobody with %d", status)
	}
}
