package graph

import (
	"context"
	"errors"

	abstractions "github.com/microsoft/kiota-abstractions-go"
	"github.com/microsoft/kiota-abstractions-go/serialization"
)

// GetSchedule returns the getSchedule action.
func (b *CalendarItemRequestBuilder) GetSchedule() *GetScheduleRequestBuilder {
	return &GetScheduleRequestBuilder{below(&b.BaseRequestBuilder, "/getSchedule")}
}

// GetScheduleRequestBuilder builds requests for the getSchedule action.
type GetScheduleRequestBuilder struct {
	abstractions.BaseRequestBuilder
}

// Post reads when people are free and when they work.
func (b *GetScheduleRequestBuilder) Post(
	ctx context.Context, body *GetSchedulePostRequestBody, o Options,
) (*GetSchedulePostResponse, error) {
	info, err := request(ctx, &b.BaseRequestBuilder, abstractions.POST, o, nil, body)
	if err != nil {
		return nil, err
	}
	return send[*GetSchedulePostResponse](ctx, &b.BaseRequestBuilder, info,
		CreateGetSchedulePostResponseFromDiscriminatorValue)
}

// GetSchedulePostRequestBody says about whom and when.
type GetSchedulePostRequestBody struct {
	Schedules          []string // addresses
	StartTime, EndTime *DateTimeTimeZone
}

// GetFieldDeserializers returns nothing: the body is only sent.
func (b *GetSchedulePostRequestBody) GetFieldDeserializers() fields { return fields{} }

// Serialize writes the fields.
func (b *GetSchedulePostRequestBody) Serialize(w serialization.SerializationWriter) error {
	return errors.Join(
		w.WriteCollectionOfStringValues("schedules", b.Schedules),
		writeObject(w, "startTime", b.StartTime),
		writeObject(w, "endTime", b.EndTime),
	)
}

// GetSchedulePostResponse has the schedules.
type GetSchedulePostResponse struct {
	Value []*ScheduleInformation
}

// CreateGetSchedulePostResponseFromDiscriminatorValue returns an empty GetSchedulePostResponse.
func CreateGetSchedulePostResponseFromDiscriminatorValue(
	serialization.ParseNode,
) (serialization.Parsable, error) {
	return &GetSchedulePostResponse{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (r *GetSchedulePostResponse) GetFieldDeserializers() fields {
	return fields{"value": objectsInto(&r.Value, CreateScheduleInformationFromDiscriminatorValue)}
}

// Serialize writes nothing: the response is only read.
func (r *GetSchedulePostResponse) Serialize(serialization.SerializationWriter) error { return nil }

// ScheduleInformation is the part of microsoft.graph.scheduleInformation that is used.
type ScheduleInformation struct {
	WorkingHours *WorkingHours
}

// CreateScheduleInformationFromDiscriminatorValue returns an empty ScheduleInformation.
func CreateScheduleInformationFromDiscriminatorValue(
	serialization.ParseNode,
) (serialization.Parsable, error) {
	return &ScheduleInformation{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (s *ScheduleInformation) GetFieldDeserializers() fields {
	return fields{"workingHours": objectInto(&s.WorkingHours, CreateWorkingHoursFromDiscriminatorValue)}
}

// Serialize writes nothing: a schedule is only read.
func (s *ScheduleInformation) Serialize(serialization.SerializationWriter) error { return nil }

// WorkingHours say when somebody works: the same hours on some days of the week.
type WorkingHours struct {
	DaysOfWeek         []string // monday
	StartTime, EndTime *string  // 08:00:00.0000000
	TimeZone           *TimeZoneBase
}

// CreateWorkingHoursFromDiscriminatorValue returns empty WorkingHours.
func CreateWorkingHoursFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &WorkingHours{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (h *WorkingHours) GetFieldDeserializers() fields {
	return fields{
		"daysOfWeek": stringsInto(&h.DaysOfWeek),
		"startTime":  stringInto(&h.StartTime),
		"endTime":    stringInto(&h.EndTime),
		"timeZone":   objectInto(&h.TimeZone, CreateTimeZoneBaseFromDiscriminatorValue),
	}
}

// Serialize writes nothing: working hours are only read.
func (h *WorkingHours) Serialize(serialization.SerializationWriter) error { return nil }

// TimeZoneBase is a zone by the name that Windows or IANA gives it.
type TimeZoneBase struct {
	Name *string
}

// CreateTimeZoneBaseFromDiscriminatorValue returns an empty TimeZoneBase.
func CreateTimeZoneBaseFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &TimeZoneBase{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (z *TimeZoneBase) GetFieldDeserializers() fields { return fields{"name": stringInto(&z.Name)} }

// Serialize writes nothing: a zone is only read.
func (z *TimeZoneBase) Serialize(serialization.SerializationWriter) error { return nil }
