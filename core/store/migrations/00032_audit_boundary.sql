-- +goose Up

-- Where the chain of the audit begins in this database; the rows up to there are archived (core/audit). One row,
-- which those who move it take turns by.
CREATE TABLE audit_boundary (
    name     TEXT   NOT NULL PRIMARY KEY,
    count    BIGINT NOT NULL CHECK (count >= 0), -- the last archived row
    mac      TEXT   NOT NULL, -- of that row
    kept     TEXT   NOT NULL, -- a digest of the archived rows that stay in the database
    key_id   TEXT   NOT NULL,
    seal     TEXT   NOT NULL,
    tried_at BIGINT NOT NULL  -- when a gateway last began to archive by itself
);

INSERT INTO audit_boundary (name, count, mac, kept, key_id, seal, tried_at) VALUES ('boundary', 0, '', '', '', '', 0);

-- A program that does not know the table serves as well. Only its audit verify misses rows that were archived.
INSERT INTO schema_compatibility (version, least) VALUES (32, 30);
