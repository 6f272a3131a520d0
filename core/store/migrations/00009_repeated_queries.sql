-- For what is asked again and again, and read finished rows as well. And a row of no meaning, by which a gateway finds out
-- whether writes succeed.

-- +goose Up

CREATE INDEX purchases_open ON purchases (created_at) WHERE state NOT IN ('done', 'returned');
CREATE INDEX purchases_ended ON purchases (created_at) WHERE state IN ('done', 'returned');
CREATE INDEX intents_open_effect ON intents (tenant_id, effect_key) WHERE state <> 'done';

-- Not "id IS NULL", for which SQLite prefers the index that keeps id unique, and sorts.
DROP INDEX audit_unsealed;
CREATE INDEX audit_unsealed ON audit (at, uid) WHERE COALESCE(id, 0) = 0;

CREATE TABLE write_probe (
    name   TEXT NOT NULL PRIMARY KEY,
    filler TEXT NOT NULL
);
