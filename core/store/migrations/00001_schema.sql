-- One text for SQLite and PostgreSQL. Times are milliseconds since 1970 in UTC; JSON is text; what may be absent is NULL.
-- Every foreign key has an index that begins with its columns, so that a cascade does not scan.

-- +goose Up

CREATE TABLE tenants (
    id         TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    name       TEXT   NOT NULL UNIQUE CHECK (name <> ''),
    settings   TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE connections (
    id          TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    tenant_id   TEXT    NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    name        TEXT    NOT NULL CHECK (name <> ''),
    kind        TEXT    NOT NULL CHECK (kind IN ('calendar', 'crm', 'telephony')),
    provider    TEXT    NOT NULL CHECK (provider <> ''),
    is_default  BOOLEAN NOT NULL,
    settings    TEXT    NOT NULL,
    credentials BYTEA,
    status      TEXT    NOT NULL CHECK (status IN ('ok', 'reconnect_required')),
    email       TEXT    NOT NULL,
    revision    BIGINT  NOT NULL CHECK (revision > 0),
    created_at  BIGINT  NOT NULL,
    UNIQUE (tenant_id, name),
    UNIQUE (tenant_id, id) -- the target of keys that must not cross tenants
);

CREATE UNIQUE INDEX connections_default ON connections (tenant_id, kind) WHERE is_default;

-- A row to update first makes writers of one connection take turns, without touching the wide row of the connection.
CREATE TABLE connection_turns (
    connection_id TEXT   NOT NULL PRIMARY KEY REFERENCES connections (id) ON DELETE CASCADE,
    taken         BIGINT NOT NULL
);

CREATE TABLE api_keys (
    id           TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    tenant_id    TEXT    NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    prefix       TEXT    NOT NULL,
    hash         BYTEA   NOT NULL UNIQUE,
    label        TEXT    NOT NULL,
    scopes       TEXT    NOT NULL,
    connections  TEXT    NOT NULL, -- ids, kept when a connection goes: such a key must not fall back to the defaults
    test         BOOLEAN NOT NULL,
    created_at   BIGINT  NOT NULL,
    revoked_at   BIGINT,
    last_used_at BIGINT
);

CREATE INDEX api_keys_of_tenant ON api_keys (tenant_id);

-- An intent outlives its connection, so that a repeat still finds the answer; without one it cannot be settled.
CREATE TABLE intents (
    tenant_id     TEXT    NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    operation     TEXT    NOT NULL CHECK (operation <> ''),
    key           TEXT    NOT NULL CHECK (key <> ''),
    kept          BOOLEAN NOT NULL,
    request_hash  BYTEA   NOT NULL,
    connection_id TEXT    REFERENCES connections (id) ON DELETE SET NULL,
    effect_key    TEXT    NOT NULL,
    plan          TEXT    NOT NULL,
    -- Not by a list: SQLite would make a table of one of more than two for each row that it checks.
    state         TEXT    NOT NULL CHECK (state = 'running' OR state = 'done' OR state = 'unknown'),
    answer        BYTEA,
    effect_ref    TEXT,
    dedupe_key    TEXT,
    owner         TEXT    NOT NULL,
    lease_until   BIGINT  NOT NULL,
    created_at    BIGINT  NOT NULL,
    updated_at    BIGINT  NOT NULL,
    PRIMARY KEY (tenant_id, operation, key),
    CHECK ((state = 'done') = (answer IS NOT NULL))
);

CREATE INDEX intents_same ON intents (tenant_id, operation, dedupe_key, created_at) WHERE dedupe_key IS NOT NULL;
CREATE INDEX intents_of_effect ON intents (connection_id, operation, effect_ref);
CREATE INDEX intents_unsettled ON intents (state, updated_at) WHERE state <> 'done';
CREATE INDEX intents_by_age ON intents (kept, created_at);

CREATE TABLE events_seen (
    tenant_id     TEXT    NOT NULL,
    connection_id TEXT    NOT NULL,
    event_id      TEXT    NOT NULL CHECK (event_id <> ''),
    calendar_id   TEXT    NOT NULL,
    gone          BOOLEAN NOT NULL,
    updated_at    BIGINT  NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, event_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE holds (
    id            TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    connection_id TEXT   NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
    calendar_id   TEXT   NOT NULL,
    starts_at     BIGINT NOT NULL,
    ends_at       BIGINT NOT NULL,
    event_id      TEXT   NOT NULL,
    valid_until   BIGINT NOT NULL,
    CHECK (starts_at < ends_at)
);

CREATE INDEX holds_in_calendar ON holds (connection_id, calendar_id, starts_at);
CREATE INDEX holds_of_event ON holds (connection_id, event_id);

CREATE TABLE sequences (
    name  TEXT   NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);

INSERT INTO sequences (name, value) VALUES ('numbers', 0);

CREATE TABLE numbers (
    id            BIGINT NOT NULL PRIMARY KEY CHECK (id > 0),
    tenant_id     TEXT   NOT NULL,
    connection_id TEXT   NOT NULL,
    ref           TEXT   NOT NULL CHECK (ref <> ''),
    e164          TEXT   NOT NULL CHECK (e164 <> ''),
    name          TEXT   NOT NULL,
    inbound       BIGINT,
    outbound      BIGINT,
    created_at    BIGINT NOT NULL,
    released_at   BIGINT,
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX numbers_of_connection ON numbers (tenant_id, connection_id);
CREATE UNIQUE INDEX numbers_held ON numbers (connection_id, ref) WHERE released_at IS NULL;
CREATE INDEX numbers_by_e164 ON numbers (e164) WHERE released_at IS NULL;

-- Keys are bytes because both databases order bytes as bytes; text would follow the database's collation on PostgreSQL.
CREATE TABLE documents (
    connection_id TEXT  NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
    key           BYTEA NOT NULL,
    value         TEXT  NOT NULL,
    PRIMARY KEY (connection_id, key)
);
