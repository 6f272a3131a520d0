-- +goose Up

-- What tools of a telephone call need to know of those before it: which slots, hold, meetings and tickets were
-- told last. They are references only, and are gone after hours.
CREATE TABLE call_notes (
    tenant_id TEXT   NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    call      TEXT   NOT NULL, -- SHA-256 of the platform's id of the call, in hexadecimal
    kind      TEXT   NOT NULL,
    value     TEXT   NOT NULL, -- a JSON array of texts
    noted_at  BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, call, kind)
);

CREATE INDEX call_notes_by_age ON call_notes (noted_at);
