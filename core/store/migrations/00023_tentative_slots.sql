-- +goose Up

-- Whether meetings that were accepted tentatively counted as free when a slot was offered, so that holding
-- and booking it go by the same rule.
ALTER TABLE slots_offered ADD COLUMN tentative_is_free BOOLEAN NOT NULL DEFAULT FALSE;
