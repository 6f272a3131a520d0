-- +goose Up

-- A hold on the slot to which an event is being moved names the event, so that a cancellation meanwhile ends it.
ALTER TABLE holds ADD COLUMN moves TEXT NOT NULL DEFAULT '';

-- Holds last for minutes, and a connection has few. So one index finds all that is asked of them. Its columns do
-- not change when a hold becomes an event's: each index would be one more page in both commits of a booking.
CREATE INDEX holds_in_time ON holds (connection_id, calendar_id, ends_at, starts_at);
DROP INDEX holds_in_calendar;
DROP INDEX holds_of_event;

-- A program that does not know the column leaves it empty.
INSERT INTO schema_compatibility (version, least) VALUES (40, 30);
