-- +goose Up

-- Where events were seen is forgotten in the order of its age.
CREATE INDEX events_seen_by_age ON events_seen (updated_at);

-- A program that does not forget them works with the index as well.
INSERT INTO schema_compatibility (version, least) VALUES (33, 30);
