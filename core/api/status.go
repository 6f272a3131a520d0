package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"
	"time"

	"frontdesk/core/language"
)

// errorDomain is the domain of every ErrorInfo: the namespace of the reasons.
const errorDomain = "frontdesk"

// localeOf returns the locale of a spoken sentence. The written interface's English is that of the USA.
func localeOf(spokenIn string) string {
	if spokenIn == language.English {
		return "en-US"
	}
	return spokenIn
}

// statusMessage is a google.rpc.Status, and what follows it are the messages of google.rpc's error_details.proto, in
// proto3 JSON: a detail has its type in "@type", and empty fields are left out.
type statusMessage struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Details []any  `json:"details"`
}

type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata"`
}

type badRequest struct {
	Type            string           `json:"@type"`
	FieldViolations []fieldViolation `json:"fieldViolations"`
}

type fieldViolation struct {
	Field       string `json:"field,omitempty"`
	Description string `json:"description,omitempty"`
}

type retryInfo struct {
	Type       string `json:"@type"`
	RetryDelay string `json:"retryDelay"` // seconds, with an "s"
}

type help struct {
	Type  string     `json:"@type"`
	Links []helpLink `json:"links"`
}

type helpLink struct {
	Description string `json:"description"`
	URL         string `json:"url"`
}

type localizedMessage struct {
	Type    string `json:"@type"`
	Locale  string `json:"locale"`
	Message string `json:"message,omitempty"`
}

type requestInfo struct {
	Type      string `json:"@type"`
	RequestID string `json:"requestId,omitempty"`
}

// structMessage is a google.protobuf.Struct: google.rpc has no message for what the caller can have instead, and this
// one every client of google.rpc can read.
type structMessage struct {
	Type  string         `json:"@type"`
	Value map[string]any `json:"value"`
}

const typeOfRPC = "type.googleapis.com/google.rpc."

// statusBody returns a failure as a google.rpc.Status in proto3 JSON. Package protojson takes seven times as long.
func (a *api) statusBody(f failure) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(statusMessage{Code: int(f.Code), Message: f.detail, Details: a.statusDetails(f)})
	return bytes.TrimSuffix(body.Bytes(), []byte("\n")), err
}

func (a *api) statusDetails(f failure) []any {
	metadata := map[string]string{"surface": string(f.surface)}
	if f.operation != "" {
		metadata["operation"] = f.operation
	}
	maps.Copy(metadata, f.metadata)
	details := append(make([]any, 0, 6),
		errorInfo{typeOfRPC + "ErrorInfo", f.reason, errorDomain, metadata})
	if len(f.fields) > 0 {
		bad := badRequest{Type: typeOfRPC + "BadRequest"}
		for _, field := range f.fields {
			bad.FieldViolations = append(bad.FieldViolations, fieldViolation{field.Path, field.Text()})
		}
		details = append(details, bad)
	}
	if f.retry > 0 {
		seconds := strconv.Itoa(int(f.retry/time.Second)) + "s"
		details = append(details, retryInfo{typeOfRPC + "RetryInfo", seconds})
	}
	if f.Person {
		details = append(details, help{typeOfRPC + "Help", a.helpLinks(f)})
	}
	details = append(details,
		localizedMessage{typeOfRPC + "LocalizedMessage", localeOf(f.language), f.spoken},
		requestInfo{typeOfRPC + "RequestInfo", f.requestID})
	if f.instead != nil {
		details = append(details, structMessage{
			"type.googleapis.com/google.protobuf.Struct", map[string]any{f.instead.Name: f.instead.Values},
		})
	}
	return details
}

// helpLinks returns links for the person who must act. If the gateway has a settings page, its link is first.
func (a *api) helpLinks(f failure) []helpLink {
	links := []helpLink{{"What this means and what to do", a.problemURL(f.Slug)}}
	if a.settingsURL == "" {
		return links
	}
	return append([]helpLink{{"Connections and keys", a.settingsURL}}, links...)
}
