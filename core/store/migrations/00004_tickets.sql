-- +goose Up

-- Which ticket a number means, of tickets that were made here: a CRM's own search may not find them for a while.
CREATE TABLE tickets_seen (
    tenant_id     TEXT   NOT NULL,
    connection_id TEXT   NOT NULL,
    number        TEXT   NOT NULL CHECK (number <> ''),
    ticket_id     TEXT   NOT NULL CHECK (ticket_id <> ''),
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, number),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX tickets_seen_by_age ON tickets_seen (created_at);
