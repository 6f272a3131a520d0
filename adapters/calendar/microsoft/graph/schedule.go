package graph

// GetSchedulePostRequestBody says about whom and when.
type GetSchedulePostRequestBody struct {
	Schedules []string          `json:"schedules"` // addresses
	StartTime *DateTimeTimeZone `json:"startTime"`
	EndTime   *DateTimeTimeZone `json:"endTime"`
}

// GetSchedulePostResponse has the schedules.
type GetSchedulePostResponse struct {
	Value List[ScheduleInformation] `json:"value"`
}

// ScheduleInformation is the part of microsoft.graph.scheduleInformation that is used.
type ScheduleInformation struct {
	WorkingHours *WorkingHours `json:"workingHours"`
}

// WorkingHours say when somebody works: the same hours on some days of the week.
type WorkingHours struct {
	DaysOfWeek []string      `json:"daysOfWeek"` // monday
	StartTime  *string       `json:"startTime"`  // 08:00:00.0000000
	EndTime    *string       `json:"endTime"`
	TimeZone   *TimeZoneBase `json:"timeZone"`
}

// TimeZoneBase is a zone by the name that Windows or IANA gives it.
type TimeZoneBase struct {
	Name *string `json:"name"`
}
