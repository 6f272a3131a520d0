-- +goose Up

-- Whose keys, connections or settings were changed lately, so that a process may keep what it has read of the others.
-- Only a trigger notes also what a program of an earlier version changes. The number is the transaction's, since no
-- other one tells a reader what it may have missed: transactions do not commit in the order in which they draw from a
-- sequence.
CREATE TABLE directory_changes (
    number     BIGINT NOT NULL DEFAULT CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT),
    tenant_id  TEXT   NOT NULL, -- '': of a key without a tenant
    changed_at BIGINT NOT NULL DEFAULT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT),
    PRIMARY KEY (number, tenant_id)
);
CREATE INDEX directory_changes_by_age ON directory_changes (changed_at);

-- +goose StatementBegin
CREATE FUNCTION note_directory_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed TEXT;
BEGIN
    IF TG_TABLE_NAME = 'tenants' THEN
        changed := NEW.id;
    ELSIF TG_OP = 'DELETE' THEN
        changed := OLD.tenant_id;
    ELSE
        changed := NEW.tenant_id;
    END IF;
    INSERT INTO directory_changes (tenant_id) VALUES (COALESCE(changed, ''))
        ON CONFLICT (number, tenant_id) DO UPDATE SET changed_at = EXCLUDED.changed_at; -- one of a restored database
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER tenant_changed AFTER UPDATE ON tenants FOR EACH ROW
    WHEN (OLD.name <> NEW.name OR OLD.settings <> NEW.settings OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at)
    EXECUTE FUNCTION note_directory_change();
CREATE TRIGGER connection_changed AFTER INSERT OR UPDATE OR DELETE ON connections FOR EACH ROW
    EXECUTE FUNCTION note_directory_change();
CREATE TRIGGER key_changed AFTER UPDATE ON api_keys FOR EACH ROW
    WHEN (OLD.last_used_at IS NOT DISTINCT FROM NEW.last_used_at)
    EXECUTE FUNCTION note_directory_change();
CREATE TRIGGER key_removed AFTER DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION note_directory_change();

-- A program that does not know the table looks every key up every two seconds.
INSERT INTO schema_compatibility (version, least) VALUES (47, 30);
