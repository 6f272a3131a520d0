-- Who may open the settings page: one-time links, and the sessions they begin. Of what opens something, only the SHA-256 is
-- kept. What it opens is sealed, so that nobody can sign in by writing the database.

-- +goose Up

CREATE TABLE sign_in_links (
    hash       TEXT   NOT NULL PRIMARY KEY,
    tenant_id  TEXT   REFERENCES tenants (id) ON DELETE CASCADE, -- NULL: the operator's
    sealed     BYTEA  NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX sign_in_links_of_tenant ON sign_in_links (tenant_id);
CREATE INDEX sign_in_links_by_end ON sign_in_links (expires_at);

CREATE TABLE sessions (
    hash       TEXT   NOT NULL PRIMARY KEY,
    person     TEXT   NOT NULL,
    tenant_id  TEXT   REFERENCES tenants (id) ON DELETE CASCADE, -- NULL: the operator's
    sealed     BYTEA  NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX sessions_of_person ON sessions (person);
CREATE INDEX sessions_of_tenant ON sessions (tenant_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);
