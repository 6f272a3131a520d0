package store

import (
	"context"
	"time"
)

// TicketSeen is a row of tickets_seen: which ticket has a number.
type TicketSeen struct {
	TenantID     string
	ConnectionID string
	Number       string
	TicketID     string
	CreatedAt    time.Time
}

// SeeTicket records which ticket has a number. A later call replaces the record.
func (s *Store) SeeTicket(ctx context.Context, t TicketSeen) error {
	_, err := s.exec(ctx, `INSERT INTO tickets_seen (tenant_id, connection_id, number, ticket_id, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant_id, connection_id, number) DO UPDATE SET ticket_id = excluded.ticket_id, created_at = excluded.created_at`,
		t.TenantID, t.ConnectionID, t.Number, t.TicketID, millis(t.CreatedAt))
	return err
}

// TicketSeen returns the id of the ticket that was last recorded for a number.
func (s *Store) TicketSeen(
	ctx context.Context, tenantID, connectionID, number string,
) (id string, found bool, err error) {
	return findIn(ctx, s, scanText,
		"SELECT ticket_id FROM tickets_seen WHERE tenant_id = $1 AND connection_id = $2 AND number = $3", tenantID,
		connectionID, number)
}

// PurgeTickets removes a batch of tickets created before the time, and returns its size. The provider's
// search finds them by now.
func (s *Store) PurgeTickets(ctx context.Context, before time.Time, most int) (int64, error) {
	return s.exec(ctx, `DELETE FROM tickets_seen WHERE (tenant_id, connection_id, number) IN (
		SELECT tenant_id, connection_id, number FROM tickets_seen WHERE created_at < $1 LIMIT $2`+
		s.dialect.lockFree+")",
		millis(before), most)
}
