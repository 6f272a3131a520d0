-- +goose Up

-- When a tenant was deleted whose rows are still being erased. Such a tenant is there for nobody.
ALTER TABLE tenants ADD COLUMN deleted_at BIGINT;

CREATE INDEX tenants_deleted ON tenants (deleted_at) WHERE deleted_at IS NOT NULL;
