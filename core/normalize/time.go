package normalize

// InputTime is placed by the time rules.
type InputTime struct{}
