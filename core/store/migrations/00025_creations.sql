-- +goose Up

-- The answers to requests of the admin interface that created something and had an Idempotency-Key. Each is
-- written in the transaction of what it created.
CREATE TABLE creations (
    actor        TEXT   NOT NULL CHECK (actor <> ''), -- whose key it is
    operation    TEXT   NOT NULL CHECK (operation <> ''),
    key          TEXT   NOT NULL CHECK (key <> ''),
    tenant_id    TEXT   REFERENCES tenants (id) ON DELETE CASCADE, -- of what was created; NULL: it is the operator's
    request_hash BYTEA  NOT NULL, -- sealed, as the answer
    answer       BYTEA  NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (actor, operation, key)
);

CREATE INDEX creations_of_tenant ON creations (tenant_id);
CREATE INDEX creations_by_age ON creations (created_at);
