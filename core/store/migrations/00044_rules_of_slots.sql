-- +goose Up

-- What the request said of when meetings may take place, so that whoever is refused the slot is offered others that
-- go by it.
ALTER TABLE slots_offered ADD COLUMN rules TEXT NOT NULL DEFAULT '{}'; -- a JSON object

-- A program that does not know the column offers others by the rules of the connection or the tenant.
INSERT INTO schema_compatibility (version, least) VALUES (44, 30);
