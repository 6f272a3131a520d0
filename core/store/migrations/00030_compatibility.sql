-- +goose Up

-- With which earlier programs a step is compatible. A program that finds a step that it does not know goes on
-- only if the step says here that its own last step is enough. So replicas of an old and a new version work
-- side by side during an upgrade, if all new steps only add what the old version need not know.
CREATE TABLE schema_compatibility (
    version BIGINT NOT NULL PRIMARY KEY, -- of the step
    least   BIGINT NOT NULL              -- the last step of the earliest program that can work with it
);
