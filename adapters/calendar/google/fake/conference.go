package fake

import (
	"fmt"
	"slices"
)

// conference handles a request for a conference. Without conferenceDataVersion=1 it is silently ignored
// (developers.google.com/workspace/calendar/api/guides/create-events#conferencing).
func (c call) conference(cal *collection, e, before *event) *refusal {
	version := c.query.Get("conferenceDataVersion")
	if version != "" && version != "0" && version != "1" {
		return invalidParameter("conferenceDataVersion")
	}
	var kept map[string]any
	if before != nil {
		kept = objectOf(before.data, "conferenceData")
	}
	asked := objectOf(objectOf(e.data, "conferenceData"), "createRequest")
	if version != "1" {
		asked = nil
	}
	switch {
	case asked == nil || textOf(asked, "requestId") == textOf(objectOf(kept, "createRequest"), "requestId"):
		delete(e.data, "conferenceData") // a request that was made before is ignored
		if kept != nil {
			e.data["conferenceData"] = copied(kept)
		}
		return nil
	case textOf(asked, "requestId") == "":
		return required("Missing conference request id.")
	case !slices.Contains(cal.Solutions, textOf(objectOf(asked, "conferenceSolutionKey"), "type")):
		return invalid("Invalid conference type value.")
	}
	asked["status"] = map[string]any{"statusCode": "pending"}
	e.polls = c.options.MeetPolls
	if e.polls == 0 {
		c.finish(e)
	}
	return nil
}

// ripen counts a read of an event with a pending conference, and finishes the conference after the last one.
func (s *Server) ripen(e *event) {
	if textOf(objectOf(objectOf(objectOf(e.data, "conferenceData"), "createRequest"), "status"),
		"statusCode") != "pending" {
		return
	}
	if e.polls--; e.polls <= 0 {
		s.finish(e)
		s.stamp(e)
	}
}

func (s *Server) finish(e *event) {
	data := objectOf(e.data, "conferenceData")
	status := map[string]any{"statusCode": "success"}
	objectOf(data, "createRequest")["status"] = status
	if s.options.MeetFails {
		status["statusCode"] = "failure"
		return
	}
	code := fmt.Sprintf("fdk-%04d-meet", s.next())
	link := "https://meet.google.com/" + code
	data["conferenceId"] = code
	data["conferenceSolution"] = map[string]any{
		"key": map[string]any{"type": "hangoutsMeet"}, "name": "Google Meet",
	}
	data["entryPoints"] = []any{
		map[string]any{"entryPointType": "phone", "uri": "tel:+1-555-010-0000", "label": "+1 555-010-0000"},
		map[string]any{"entryPointType": "video", "uri": link, "label": link},
	}
	e.data["hangoutLink"] = link
}
