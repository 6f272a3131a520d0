-- +goose Up

-- The circuit breakers that are not closed, at each replica. They are shown to people, and decide nothing.
CREATE TABLE breakers (
    replica  TEXT   NOT NULL,
    level    TEXT   NOT NULL, -- host, connection
    subject  TEXT   NOT NULL, -- the host, or the connection's id
    provider TEXT   NOT NULL,
    state    TEXT   NOT NULL,
    since    BIGINT NOT NULL,
    seen_at  BIGINT NOT NULL, -- a row that is not seen again says nothing any more
    PRIMARY KEY (replica, level, subject)
);

CREATE INDEX breakers_by_age ON breakers (seen_at);

-- A program that does not know the table does without it.
INSERT INTO schema_compatibility (version, least) VALUES (31, 30);
