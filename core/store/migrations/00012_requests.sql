-- The last requests of each tenant, for people who look for what happened; see core/requestlog. A request outlives its
-- connection and its key.

-- +goose Up

CREATE TABLE requests (
    id              TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''), -- of the gateway's making; request_id may be the caller's
    tenant_id       TEXT    NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    at              BIGINT  NOT NULL,
    request_id      TEXT    NOT NULL,
    key_id          TEXT    NOT NULL,
    connection_id   TEXT    NOT NULL,
    operation       TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    replayed        BOOLEAN NOT NULL,
    status          BIGINT  NOT NULL,
    reason          TEXT    NOT NULL,
    took            BIGINT  NOT NULL, -- in microseconds
    tries           TEXT    NOT NULL
);

CREATE INDEX requests_of_tenant ON requests (tenant_id, at, id);
CREATE INDEX requests_of_connection ON requests (connection_id, at);
CREATE INDEX requests_by_time ON requests (at);
