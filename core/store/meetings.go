package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"
)

// Meeting is what is remembered of a meeting: what its reference stands for, and the people whom it is with.
type Meeting struct {
	TenantID     string
	ConnectionID string
	Reference    string // unique in the connection
	EventID      string
	CalendarID   string // "": the default one
	EndsAt       time.Time
	People       []string // keyed hashes; only written
}

// SeeMeetings remembers meetings. A later call replaces what was remembered of a reference, and adds to its
// people.
func (s *Store) SeeMeetings(ctx context.Context, meetings []Meeting) error {
	if len(meetings) == 0 {
		return nil
	}
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return execAll(ctx, tx, slices.Concat(s.parentsFirst(seenIn(nil, meetings)), seeMeetings(meetings)))
	})
}

// meetingRow is a row of meetings.
type meetingRow struct {
	Meeting
	person string
}

const maxMeetingRows = 256 // of one statement

// seeMeetings writes the rows sorted, so that no two transactions deadlock, and each of them once, because
// PostgreSQL rejects a statement that writes a row twice.
func seeMeetings(meetings []Meeting) (all []statement) {
	var rows []meetingRow
	for _, m := range meetings {
		for _, person := range append([]string{""}, m.People...) {
			rows = append(rows, meetingRow{m, person})
		}
	}
	compare := func(a, b meetingRow) int {
		return cmp.Or(cmp.Compare(a.TenantID, b.TenantID), cmp.Compare(a.ConnectionID, b.ConnectionID),
			cmp.Compare(a.Reference, b.Reference), cmp.Compare(a.person, b.person))
	}
	slices.SortStableFunc(rows, compare)
	rows = slices.CompactFunc(rows, func(a, b meetingRow) bool { return compare(a, b) == 0 })
	for batch := range slices.Chunk(rows, maxMeetingRows) {
		var args []any
		for _, r := range batch {
			args = append(args, r.TenantID, r.ConnectionID, r.Reference, r.person, r.EventID, r.CalendarID,
				millis(r.EndsAt))
		}
		query := `INSERT INTO meetings
			(tenant_id, connection_id, reference, person, event_id, calendar_id, ends_at) VALUES ` +
			placeholders(len(batch), 7) + ` ON CONFLICT (tenant_id, connection_id, reference, person) DO UPDATE
			SET event_id = excluded.event_id, calendar_id = excluded.calendar_id, ends_at = excluded.ends_at`
		all = append(all, statement{query: query, args: args})
	}
	return all
}

const meetingColumns = "m.tenant_id, m.connection_id, m.reference, m.event_id, m.calendar_id, m.ends_at"

func scanMeeting(row scanner) (m Meeting, err error) {
	var ends int64
	err = row.Scan(&m.TenantID, &m.ConnectionID, &m.Reference, &m.EventID, &m.CalendarID, &ends)
	m.EndsAt = instant(ends)
	return m, err
}

// Meeting returns what a reference stands for.
func (s *Store) Meeting(
	ctx context.Context, tenantID, connectionID, reference string,
) (Meeting, bool, error) {
	return findByKey(ctx, s, scanMeeting, "SELECT "+meetingColumns+` FROM meetings m
		WHERE m.tenant_id = $1 AND m.connection_id = $2 AND m.reference = $3 AND m.person = ''`,
		tenantID, connectionID, reference)
}

// MeetingsWith returns the meetings with a person that end after the time, those that end first first, and then those
// that have ended since the earlier time, the last first; at most so many.
func (s *Store) MeetingsWith(
	ctx context.Context, tenantID, connectionID, person string, after, since time.Time, most int,
) ([]Meeting, error) {
	// SQLite would begin with all meetings of the connection, but keeps to the order of a CROSS JOIN. Since
	// the event's id is asked for, it does not prefer the primary key to the index of people either.
	return listOf(ctx, s, scanMeeting, "SELECT "+meetingColumns+` FROM meetings p CROSS JOIN meetings m
		WHERE m.tenant_id = p.tenant_id AND m.connection_id = p.connection_id AND m.reference = p.reference
		AND m.event_id = p.event_id AND m.person = ''
		AND p.tenant_id = $1 AND p.connection_id = $2 AND p.person = $3 AND p.person <> '' AND m.ends_at > $5
		ORDER BY m.ends_at <= $4, abs(m.ends_at - $4), m.reference LIMIT $6`,
		tenantID, connectionID, person, millis(after), millis(since), most)
}

// A row of a person has the end that the meeting had when the person was added. The meeting's own row has its end.
const purgeableMeetings = `SELECT tenant_id, connection_id, reference, person FROM meetings p WHERE ends_at < $1
	AND NOT EXISTS (SELECT 1 FROM meetings m WHERE m.tenant_id = p.tenant_id AND m.connection_id = p.connection_id
	AND m.reference = p.reference AND m.person = '' AND m.ends_at >= $1) LIMIT $2`

// PurgeMeetings removes a batch of rows of meetings that ended before the time, and returns its size.
func (s *Store) PurgeMeetings(ctx context.Context, before time.Time, most int) (int64, error) {
	return s.exec(ctx, `DELETE FROM meetings WHERE (tenant_id, connection_id, reference, person) IN (`+
		purgeableMeetings+s.dialect.lockFree+")", millis(before), most)
}
