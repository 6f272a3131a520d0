-- A key of the admin interface may belong to no tenant: it is the operator's. A key in whose place another one comes stays
-- valid until it ends. SQLite cannot drop a NOT NULL, so the rows move to a new table.

-- +goose Up

CREATE TABLE keys_to_be (
    id           TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    tenant_id    TEXT    REFERENCES tenants (id) ON DELETE CASCADE,
    prefix       TEXT    NOT NULL,
    hash         BYTEA   NOT NULL UNIQUE,
    label        TEXT    NOT NULL,
    scopes       TEXT    NOT NULL,
    connections  TEXT    NOT NULL, -- ids, kept when a connection goes: such a key must not fall back to the defaults
    test         BOOLEAN NOT NULL,
    created_at   BIGINT  NOT NULL,
    revoked_at   BIGINT,
    last_used_at BIGINT,
    seal         BYTEA,
    ends_at      BIGINT
);

INSERT INTO keys_to_be (id, tenant_id, prefix, hash, label, scopes, connections, test, created_at, revoked_at,
    last_used_at, seal)
SELECT id, tenant_id, prefix, hash, label, scopes, connections, test, created_at, revoked_at, last_used_at, seal
FROM api_keys;

DROP TABLE api_keys;

ALTER TABLE keys_to_be RENAME TO api_keys;

CREATE INDEX api_keys_of_tenant ON api_keys (tenant_id);

-- A key that was rolled ends, though its row be put back to how it was.
CREATE INDEX audit_rolls ON audit (subject) WHERE action = 'roll-key';

ALTER TABLE connect_links ADD COLUMN return_url TEXT NOT NULL DEFAULT '';
