package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// The limits of a composite call ("Send Multiple Requests Using Composite").
const (
	maxParts   = 25
	maxQueries = 5
)

type compositeCall struct {
	AllOrNone bool `json:"allOrNone"`
	Parts     []struct {
		Method      string            `json:"method"`
		URL         string            `json:"url"`
		ReferenceID string            `json:"referenceId"`
		Headers     map[string]string `json:"httpHeaders"`
		Body        json.RawMessage   `json:"body"`
	} `json:"compositeRequest"`
}

var (
	partName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
	referred = regexp.MustCompile(`@\{([A-Za-z0-9_]+)\.([A-Za-z0-9_]+)\}`)
)

func (s *Server) composite(c call, versioned string) reply {
	var asked compositeCall
	decoder := json.NewDecoder(bytes.NewReader(c.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return refuse(http.StatusBadRequest, "JSON_PARSER_ERROR", err.Error())
	}
	queries := 0
	for _, p := range asked.Parts {
		if strings.Contains(p.URL, "/query") {
			queries++
		}
		if !partName.MatchString(p.ReferenceID) {
			return refuse(http.StatusBadRequest, "JSON_PARSER_ERROR",
				"The reference id "+p.ReferenceID+" is not valid")
		}
		for name := range p.Headers {
			if name == "Accept" || name == "Authorization" || name == "Content-Type" {
				return refuse(http.StatusBadRequest, "INVALID_HTTP_HEADER", name+" is inherited from the call")
			}
		}
	}
	if len(asked.Parts) == 0 || len(asked.Parts) > maxParts || queries > maxQueries {
		return refuse(http.StatusBadRequest, "LIMIT_EXCEEDED", "The number of subrequests is not allowed")
	}

	undo := s.snapshot()
	answers := make([]reply, 0, len(asked.Parts))
	bodies := map[string]map[string]any{}
	failed := -1
	for i, p := range asked.Parts {
		if failed >= 0 && asked.AllOrNone {
			break
		}
		answer := s.part(c, p.Method, p.URL, p.Body, p.Headers, bodies, versioned)
		if answer.status > 299 && failed < 0 {
			failed = i
		}
		if body, is := answer.body.(map[string]any); is {
			bodies[p.ReferenceID] = body
		}
		answers = append(answers, answer)
	}
	if failed >= 0 && asked.AllOrNone {
		undo()
		halted := refuse(http.StatusBadRequest, "PROCESSING_HALTED",
			"The transaction was rolled back since another operation in the same transaction failed.")
		kept := answers[failed]
		answers = answers[:0]
		for i := range asked.Parts {
			if i == failed {
				answers = append(answers, kept)
			} else {
				answers = append(answers, halted)
			}
		}
	}
	list := make([]any, 0, len(answers))
	for i, answer := range answers {
		list = append(list, map[string]any{
			"body": answer.body, "httpHeaders": map[string]any{}, "httpStatusCode": answer.status,
			"referenceId": asked.Parts[i].ReferenceID,
		})
	}
	return reply{http.StatusOK, map[string]any{"compositeResponse": list}}
}

// part handles one part. It replaces references to the responses of earlier parts by their values.
func (s *Server) part(
	whole call, method, address string, body []byte, headers map[string]string, bodies map[string]map[string]any,
	versioned string,
) reply {
	unknown := ""
	filled := referred.ReplaceAllStringFunc(address, func(found string) string {
		names := referred.FindStringSubmatch(found)
		value, is := bodies[names[1]][names[2]]
		if !is {
			unknown = found
		}
		return fmt.Sprint(value)
	})
	if unknown != "" {
		return refuse(http.StatusBadRequest, "PROCESSING_HALTED",
			"Invalid reference specified. No value for "+unknown+" found")
	}
	u, err := url.Parse(filled)
	if err != nil || u.IsAbs() || !strings.HasPrefix(u.Path, DataPath) {
		return notFound()
	}
	return s.resource(call{
		method: method, address: u, body: body, autoAssign: headers["Sforce-Auto-Assign"], user: whole.user,
		within: versioned,
	})
}
