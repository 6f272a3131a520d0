-- +goose Up

-- An index with an entry of each booking is one or two more pages in its commits, in random places. This one
-- leaves out the calls whose key follows from their dedupe key: nearly all without a key of their own.
CREATE INDEX intents_named_otherwise ON intents (tenant_id, operation, dedupe_key, created_at)
    WHERE dedupe_key IS NOT NULL AND key <> 'same:' || dedupe_key;
DROP INDEX intents_same;

-- A program that does not know the index finds equal calls by the primary key: it reads all of the tenant's
-- of that kind. That is slower, and right, for the minutes of an upgrade.
INSERT INTO schema_compatibility (version, least) VALUES (43, 30);
