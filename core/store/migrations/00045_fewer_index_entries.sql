-- +goose Up

-- Every booking wrote an entry and removed it again, in an index that only purchases of numbers are looked up by.
CREATE INDEX intents_open_purchase ON intents (tenant_id, effect_key)
    WHERE state <> 'done' AND operation = 'buy-phone-number';
DROP INDEX intents_open_effect;

-- No query goes by it: those of a connection are looked for among the tenant's newest.
DROP INDEX requests_of_connection;

-- A program that does not know the index reads the few open intents instead, for the minutes of an upgrade.
INSERT INTO schema_compatibility (version, least) VALUES (45, 30);
