package api

import (
	"bytes"
	"encoding/json"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"frontdesk/core/fault"
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

// statusBody returns a failure as a google.rpc.Status in proto3 JSON.
func (a *api) statusBody(f failure) ([]byte, error) {
	s := &status.Status{Code: int32(f.Code), Message: f.detail}
	details := a.statusDetails(f)
	if f.instead != nil {
		list, err := insteadDetail(f.instead)
		if err != nil {
			return nil, err
		}
		details = append(details, list)
	}
	for _, detail := range details {
		packed, err := anypb.New(detail)
		if err != nil {
			return nil, err
		}
		s.Details = append(s.Details, packed)
	}
	written, err := protojson.Marshal(s)
	if err != nil {
		return nil, err
	}
	// protojson adds random blanks, to keep its output unstable. The output of the gateway is stable.
	var compact bytes.Buffer
	if err := json.Compact(&compact, written); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

// insteadDetail returns what the caller can have instead, as a message that every client of google.rpc can
// read: the package has none for it.
func insteadDetail(in *fault.Instead) (*structpb.Struct, error) {
	raw, err := json.Marshal(map[string]any{in.Name: in.Values})
	if err != nil {
		return nil, err
	}
	var s structpb.Struct
	return &s, protojson.Unmarshal(raw, &s)
}

func (a *api) statusDetails(f failure) []proto.Message {
	metadata := map[string]string{"surface": string(f.surface)}
	if f.operation != "" {
		metadata["operation"] = f.operation
	}
	for key, value := range f.metadata {
		metadata[key] = value
	}
	details := []proto.Message{&errdetails.ErrorInfo{Reason: f.reason, Domain: errorDomain, Metadata: metadata}}
	if len(f.fields) > 0 {
		bad := &errdetails.BadRequest{}
		for _, field := range f.fields {
			bad.FieldViolations = append(bad.FieldViolations,
				&errdetails.BadRequest_FieldViolation{Field: field.Path, Description: field.Text()})
		}
		details = append(details, bad)
	}
	if f.retry > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(f.retry)})
	}
	if f.Person {
		details = append(details, &errdetails.Help{Links: a.helpLinks(f)})
	}
	return append(details,
		&errdetails.LocalizedMessage{Locale: localeOf(f.language), Message: f.spoken},
		&errdetails.RequestInfo{RequestId: f.requestID})
}

// helpLinks returns links for the person who must act. If the gateway has a settings page, its link is first.
func (a *api) helpLinks(f failure) []*errdetails.Help_Link {
	links := []*errdetails.Help_Link{{Description: "What this means and what to do", Url: a.problemURL(f.Slug)}}
	if a.settingsURL == "" {
		return links
	}
	return append([]*errdetails.Help_Link{{Description: "Connections and keys", Url: a.settingsURL}}, links...)
}
