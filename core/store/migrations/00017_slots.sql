-- +goose Up

-- What a slot_id stands for. An agent repeats the id to hold or book the slot, at any replica.
CREATE TABLE slots_offered (
    tenant_id     TEXT   NOT NULL,
    connection_id TEXT   NOT NULL,
    id            TEXT   NOT NULL,
    starts_at     BIGINT NOT NULL,
    ends_at       BIGINT NOT NULL,
    calendar_ids  TEXT   NOT NULL, -- a JSON array; the first is the one to book in
    offered_at    BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX slots_offered_by_age ON slots_offered (offered_at);
