-- Links that customers open to connect an account, and the consents that were begun with them. Of what opens something,
-- such as a link's token, only the SHA-256 is kept.

-- +goose Up

CREATE TABLE connect_links (
    hash          BYTEA   NOT NULL PRIMARY KEY,
    tenant_id     TEXT    NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    connection_id TEXT    NOT NULL CHECK (connection_id <> ''), -- may not be there: the one to reconnect, or the one to make
    reconnects    BOOLEAN NOT NULL,
    kind          TEXT    NOT NULL CHECK (kind IN ('calendar', 'crm', 'telephony')),
    provider      TEXT    NOT NULL CHECK (provider <> ''),
    name          TEXT    NOT NULL CHECK (name <> ''),
    settings      TEXT    NOT NULL,
    is_default    BOOLEAN NOT NULL,
    other_account BOOLEAN NOT NULL,
    created_at    BIGINT  NOT NULL,
    expires_at    BIGINT  NOT NULL,
    used_at       BIGINT,
    claim         BYTEA,  -- who is about to store what a consent gave, until claimed_until
    claimed_until BIGINT
);

CREATE INDEX connect_links_of_tenant ON connect_links (tenant_id);
CREATE INDEX connect_links_by_end ON connect_links (expires_at);

CREATE TABLE consents (
    hash         BYTEA  NOT NULL PRIMARY KEY,
    link_hash    BYTEA  NOT NULL REFERENCES connect_links (hash) ON DELETE CASCADE,
    browser_hash BYTEA  NOT NULL,
    sealed       BYTEA  NOT NULL,
    redirect_uri TEXT   NOT NULL,
    expires_at   BIGINT NOT NULL
);

CREATE INDEX consents_of_link ON consents (link_hash, expires_at);
CREATE INDEX consents_by_end ON consents (expires_at);
