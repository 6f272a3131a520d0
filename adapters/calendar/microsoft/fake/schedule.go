package fake

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"frontdesk/core/timezone"
)

// longestSchedule is the longest period that getSchedule accepts
// (learn.microsoft.com/graph/outlook-get-free-busy-schedule, "Limits").
const longestSchedule = 62 * 24 * time.Hour

// getSchedule tells when people work. When they are busy nobody asks it.
func (s *Server) getSchedule(c *call) answer {
	var body struct {
		Schedules          []string
		StartTime, EndTime dateTimeTimeZone
	}
	if c.Method != http.MethodPost {
		return refuse(http.StatusMethodNotAllowed, "ErrorInvalidRequest", "The method is not supported.")
	}
	if err := json.Unmarshal(c.body, &body); err != nil || len(body.Schedules) == 0 {
		return invalid("ErrorInvalidParameter", "The parameter 'schedules' is missing.")
	}
	from, wrong := body.StartTime.instant(false)
	if wrong != nil {
		return *wrong
	}
	to, wrong := body.EndTime.instant(false)
	if wrong != nil {
		return *wrong
	}
	if !from.Before(to) || to.Sub(from) >= longestSchedule {
		return invalid("ErrorInvalidTimeInterval", "The requested time duration is not valid.")
	}
	if s.options.Personal { // it is not supported for them (the same page)
		return refuse(http.StatusForbidden, "ErrorAccessDenied", "Access is denied. Check credentials and try again.")
	}
	all := make([]map[string]any, len(body.Schedules))
	for i, address := range body.Schedules {
		all[i] = map[string]any{"scheduleId": address}
		if !strings.EqualFold(address, s.options.Account) {
			all[i]["error"] = map[string]any{
				"message": "The specified address was not found.", "responseCode": "ErrorMailRecipientNotFound",
			}
			continue
		}
		all[i]["availabilityView"], all[i]["scheduleItems"] = "00", []any{}
		all[i]["workingHours"] = s.works()
	}
	return answer{status: http.StatusOK, body: map[string]any{"value": all}}
}

func (s *Server) works() WorkingHours {
	if s.options.Works != nil {
		return *s.options.Works
	}
	zone, _ := timezone.ToWindows(s.zone.String())
	return WorkingHours{
		DaysOfWeek: []string{"monday", "tuesday", "wednesday", "thursday", "friday"},
		StartTime:  "08:00:00.0000000", EndTime: "17:00:00.0000000",
		TimeZone: map[string]any{"name": zone},
	}
}
