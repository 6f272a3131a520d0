-- What decides where credentials go and which keys are accepted is authenticated by the key set: see core/sealing. NULL is a
-- row from before, which is refused until it was adopted.

-- +goose Up

ALTER TABLE api_keys ADD COLUMN seal BYTEA;
ALTER TABLE connect_links ADD COLUMN seal BYTEA;

-- Keys of hashes by which rows are looked for, sealed by core/vault.
CREATE TABLE hash_keys (
    name   TEXT  NOT NULL PRIMARY KEY,
    sealed BYTEA NOT NULL
);

-- A key that was revoked stays so, though its row be put back to how it was.
CREATE INDEX audit_revocations ON audit (subject) WHERE action = 'revoke-key';
