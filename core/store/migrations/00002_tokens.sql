-- +goose Up

-- The access tokens of connections by OAuth, sealed with what renews them. The version grows with each change of what is
-- sealed but not with a change of the key it is sealed with, so that a redeem under way still finds its own.
CREATE TABLE tokens (
    tenant_id     TEXT    NOT NULL,
    connection_id TEXT    NOT NULL,
    sealed        BYTEA   NOT NULL, -- names the credentials they grew from even where there are none yet
    version       BIGINT  NOT NULL CHECK (version >= 0),
    refresh_at    BIGINT,           -- NULL: nothing is to be done by itself
    refused       BOOLEAN NOT NULL, -- the provider renews them no more
    failures      BIGINT  NOT NULL,
    lease_owner   TEXT    NOT NULL,
    lease_until   BIGINT  NOT NULL, -- past: nobody renews them
    PRIMARY KEY (tenant_id, connection_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX tokens_due ON tokens (refresh_at, connection_id) WHERE refresh_at IS NOT NULL;

-- Whoever redeems a refresh token has its row here in a transaction that is never committed: another who inserts the same
-- waits, or gives up, until the first one ends, however it ends. It refers to nothing, so that a connection can be removed
-- meanwhile.
CREATE TABLE token_turns (
    connection_id TEXT NOT NULL PRIMARY KEY
);
