-- +goose Up

-- Limits that all replicas share: who holds which part of one, and until when (core/budget). A row that says
-- nothing any more is removed.
CREATE TABLE budgets (
    name  TEXT   NOT NULL PRIMARY KEY,
    state TEXT   NOT NULL, -- JSON
    until BIGINT NOT NULL  -- from when on the row says nothing
);

CREATE INDEX budgets_by_end ON budgets (until);
