-- Who changed what; see core/audit. Rows refer to nothing: they outlive the tenants and connections they name.

-- +goose Up

CREATE TABLE audit (
    uid           TEXT   NOT NULL PRIMARY KEY CHECK (uid <> ''), -- of the writer's making
    id            BIGINT UNIQUE CHECK (id > 0),                  -- the place in the chain; NULL until it is sealed
    at            BIGINT NOT NULL,
    tenant_id     TEXT   NOT NULL,
    tenant        TEXT   NOT NULL,
    actor         TEXT   NOT NULL,
    action        TEXT   NOT NULL,
    connection_id TEXT   NOT NULL,
    subject       TEXT   NOT NULL,
    changed       TEXT   NOT NULL, -- the names of what was changed
    outcome       TEXT   NOT NULL,
    effect        TEXT   NOT NULL,
    request_id    TEXT   NOT NULL,
    key_id        TEXT   NOT NULL,
    mac           TEXT   NOT NULL  -- in hexadecimal: of the row alone until it is sealed, then of its place in the chain too
);

CREATE INDEX audit_unsealed ON audit (at, uid) WHERE id IS NULL;
CREATE INDEX audit_by_time ON audit (at, uid);
CREATE INDEX audit_of_tenant ON audit (tenant, at, uid);

-- The one row that those who seal take turns by.
CREATE TABLE audit_head (
    name   TEXT   NOT NULL PRIMARY KEY,
    count  BIGINT NOT NULL,
    mac    TEXT   NOT NULL, -- of the last row
    key_id TEXT   NOT NULL,
    seal   TEXT   NOT NULL
);

INSERT INTO audit_head (name, count, mac, key_id, seal) VALUES ('head', 0, '', '', '');

CREATE TABLE audit_keys (
    id         TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    sealed     BYTEA  NOT NULL, -- by core/vault
    created_at BIGINT NOT NULL
);
