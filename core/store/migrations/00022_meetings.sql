-- +goose Up

-- How a slot was offered, so that holding and booking it go by the same rules. A hold_id is a row here, too.
ALTER TABLE slots_offered ADD COLUMN time_zone     TEXT   NOT NULL DEFAULT '';
ALTER TABLE slots_offered ADD COLUMN availability  TEXT   NOT NULL DEFAULT '';
ALTER TABLE slots_offered ADD COLUMN buffer_before BIGINT NOT NULL DEFAULT 0; -- milliseconds, as the next
ALTER TABLE slots_offered ADD COLUMN buffer_after  BIGINT NOT NULL DEFAULT 0;

-- What a meeting_reference stands for (person is ''), and whose meetings were booked here. A person is the
-- keyed hash of an e-mail address or a telephone number.
CREATE TABLE meetings (
    tenant_id     TEXT   NOT NULL,
    connection_id TEXT   NOT NULL,
    reference     TEXT   NOT NULL CHECK (reference <> ''),
    person        TEXT   NOT NULL,
    event_id      TEXT   NOT NULL CHECK (event_id <> ''),
    calendar_id   TEXT   NOT NULL, -- '' is the default one
    ends_at       BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, reference, person),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX meetings_of_person ON meetings (tenant_id, connection_id, person, ends_at) WHERE person <> '';
CREATE INDEX meetings_by_end ON meetings (ends_at);
