-- +goose Up

-- Every quarter of an hour, each replica asks for the telephony connections, which are few among calendars.
CREATE INDEX connections_by_kind ON connections (kind, status);

-- A program that does not ask by it works with the index as well.
INSERT INTO schema_compatibility (version, least) VALUES (41, 30);
