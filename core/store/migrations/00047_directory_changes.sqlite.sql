-- +goose Up

-- Whose keys, connections or settings were changed lately, so that a process may keep what it has read of the others.
-- Only a trigger notes also what a program of an earlier version changes.
CREATE TABLE directory_changes (
    number     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    tenant_id  TEXT    NOT NULL, -- '': of a key without a tenant
    changed_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER))
);
CREATE INDEX directory_changes_by_age ON directory_changes (changed_at);

-- +goose StatementBegin
CREATE TRIGGER tenant_changed AFTER UPDATE ON tenants
WHEN OLD.name <> NEW.name OR OLD.settings <> NEW.settings OR OLD.deleted_at IS NOT NEW.deleted_at
BEGIN
    INSERT INTO directory_changes (tenant_id) VALUES (NEW.id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER connection_added AFTER INSERT ON connections
BEGIN
    INSERT INTO directory_changes (tenant_id) VALUES (NEW.tenant_id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER connection_changed AFTER UPDATE ON connections
BEGIN
    INSERT INTO directory_changes (tenant_id) VALUES (NEW.tenant_id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER connection_removed AFTER DELETE ON connections
BEGIN
    INSERT INTO directory_changes (tenant_id) VALUES (OLD.tenant_id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER key_changed AFTER UPDATE ON api_keys
WHEN OLD.last_used_at IS NEW.last_used_at
BEGIN
    INSERT INTO directory_changes (tenant_id) VALUES (COALESCE(NEW.tenant_id, ''));
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER key_removed AFTER DELETE ON api_keys
BEGIN
    INSERT INTO directory_changes (tenant_id) VALUES (COALESCE(OLD.tenant_id, ''));
END;
-- +goose StatementEnd

-- A program that does not know the table looks every key up every two seconds.
INSERT INTO schema_compatibility (version, least) VALUES (47, 30);
