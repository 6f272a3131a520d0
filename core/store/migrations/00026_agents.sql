-- +goose Up

-- A voice agent at a platform is an API key that nobody holds: the platform proves who it is with a secret of
-- its own, which the row's seal encloses. The name of an agent is the label, unique among those in force.
ALTER TABLE api_keys ADD COLUMN platform TEXT NOT NULL DEFAULT '';

CREATE UNIQUE INDEX api_keys_agent ON api_keys (tenant_id, label)
    WHERE platform <> '' AND revoked_at IS NULL;
