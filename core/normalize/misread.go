package normalize

import "regexp"

// fullTime matches the date and the time of day in their right form.
const fullTime = `^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?`

// space matches what stands before and within "p. m.", in Spanish a thin space (rae.es, "La expresión de la hora" and
// the article on abbreviations in the Ortografía).
const space = `[\s\p{Z}]*`

// misreadings are common wrong forms of a time and the sentences to return for them. The first match counts.
var misreadings = []struct {
	looksLike *regexp.Regexp
	sentence  string
}{
	{regexp.MustCompile(`^\s+\S|\S\s+$`), "must have no spaces around it"},
	{regexp.MustCompile(`\[.*\]$`), "must end before the bracket; the name of the zone has its own field"},
	{regexp.MustCompile(fullTime + `[+-]\d{1,2}:\d{2}:\d{2}`),
		"must have an offset without seconds, such as -05:00"},
	{regexp.MustCompile(fullTime + `\s+([Zz]|[+-]\d{2}(:?\d{2})?)$`), "must have no space before the offset"},
	{regexp.MustCompile(fullTime + `\s*[−–—‐]\d`), "must have a plain hyphen (-) as the sign of its offset"},
	{regexp.MustCompile(`(?i)\d` + space + `[ap]\.?` + space + `m\.?\b`),
		"must be on the 24-hour clock, such as 2026-12-01T14:30:00"},
	{regexp.MustCompile(fullTime + `\s*\p{L}`),
		"must end with an offset such as -05:00, not with the name of a zone; the name has its own field"},
	{regexp.MustCompile(`^-?\d{9,13}([.,]\d+)?$`),
		"must not be a Unix timestamp; write it as RFC 3339, such as 2026-12-01T10:00:00Z"},
	{regexp.MustCompile(`^\d{4}-?W\d{2}`),
		"must not be a week date; write the month and the day, such as 2026-12-01T10:00:00"},
	{regexp.MustCompile(`^\d{8}([Tt ]\d{2,6}([.,]\d+)?([Zz]|[+-]\d{2}:?\d{0,2})?)?$`),
		"must not be in ISO 8601's basic format; write the hyphens and colons, such as 2026-12-01T10:00:00"},
	{regexp.MustCompile(`^\d{4}-?\d{3}([Tt ]|$)`),
		"must not be an ordinal date; write the month and the day, such as 2026-12-01T10:00:00"},
	{regexp.MustCompile(`^[+-]\d{4,}-`), "must have a year of four digits without a sign"},
	{regexp.MustCompile(`^[Tt]?\d{1,2}:\d{2}`), "must have a date before the time, such as 2026-12-01T10:00:00"},
	{regexp.MustCompile(`^\d{1,4}[/.]\d{1,2}[/.]\d{1,4}`),
		"must begin with the year, the month and the day with hyphens between them, such as 2026-12-01T10:00:00"},
	{regexp.MustCompile(`^\d{4}-\d{2}-\d{2}[Tt ]\d{2}([Zz]|[+-]\d{2}:\d{2})?$`),
		"must have minutes, such as 2026-12-01T10:00"},
	{regexp.MustCompile(`^\d{4}-(\d-|\d{2}-(\d([Tt ]|$)|\d{2}[Tt ](\d:|\d{2}:(\d(:|$)|\d{2}:\d(\D|$)))))`),
		"must have two digits in the month, the day, the hour, the minute and the second, such as " +
			"2026-12-01T09:05:00"},
}

// misread returns an error that explains what is wrong with a time in none of the accepted forms.
func misread(s string, form TimeForm) error {
	for _, m := range misreadings {
		if m.looksLike.MatchString(s) {
			return refusal(m.sentence)
		}
	}
	return formFault(form)
}
