-- Purchases of phone numbers: the right to buy one, taken under the tenant's limits, and the number chosen, recorded before
-- it is ordered. A number is one holder's: within a realm (all real providers, or one sandbox) it is chosen once and
-- held once.

-- +goose Up

ALTER TABLE numbers ADD COLUMN realm TEXT NOT NULL DEFAULT '';
ALTER TABLE numbers ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE numbers ADD COLUMN leads TEXT NOT NULL DEFAULT '';
ALTER TABLE numbers ADD COLUMN release_at BIGINT;
ALTER TABLE numbers ADD COLUMN going BIGINT NOT NULL DEFAULT 0;

UPDATE numbers SET realm = connection_id WHERE connection_id IN (SELECT id FROM connections WHERE provider = 'sandbox');

DROP INDEX numbers_by_e164;
CREATE UNIQUE INDEX numbers_by_e164 ON numbers (realm, e164) WHERE released_at IS NULL;
CREATE INDEX numbers_to_return ON numbers (release_at) WHERE release_at IS NOT NULL AND released_at IS NULL;

CREATE TABLE purchases (
    id            TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    tenant_id     TEXT   NOT NULL,
    connection_id TEXT   NOT NULL,
    realm         TEXT   NOT NULL,
    e164          TEXT   NOT NULL DEFAULT '',
    bought        BIGINT NOT NULL DEFAULT 0,
    created_at    BIGINT NOT NULL,
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX purchases_of_connection ON purchases (tenant_id, connection_id);
CREATE INDEX purchases_of_tenant ON purchases (tenant_id, created_at);
CREATE UNIQUE INDEX purchases_chosen ON purchases (realm, e164) WHERE bought = 0 AND e164 <> '';
