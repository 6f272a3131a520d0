package fake

import (
	"fmt"
	"net/http"
)

// refusal is an error response (twilio.com/docs/usage/twilios-response, "Exceptions").
type refusal struct {
	status, code int
	message      string
}

func refuse(status, code int, message string) *refusal { return &refusal{status, code, message} }

func (r *refusal) write(w http.ResponseWriter) {
	write(w, r.status, map[string]any{
		"status": r.status, "code": r.code, "message": r.message,
		"more_info": fmt.Sprintf("https://www.twilio.com/docs/errors/%d", r.code),
	})
}

func unauthenticated() *refusal { return refuse(http.StatusUnauthorized, 20003, "Authenticate") }

func inactive() *refusal { return refuse(http.StatusForbidden, 20005, "Account not active") }

func notFound(path string) *refusal {
	return refuse(http.StatusNotFound, 20404, "The requested resource "+root+path+" was not found")
}

func invalidNumber(e164 string) *refusal {
	return refuse(http.StatusBadRequest, 21421, e164+" is not a valid number")
}

func notAvailable(e164 string) *refusal {
	return refuse(http.StatusBadRequest, 21422, e164+" is not available")
}

func noneInAreaCode(areaCode string) *refusal {
	return refuse(http.StatusBadRequest, 21452, "No phone numbers found in area code "+areaCode)
}
