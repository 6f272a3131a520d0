-- Webhooks: where events are sent to. The rows of deliveries are the queue. An event's deliveries are written in the
-- transaction of the change that the event tells.

-- +goose Up

CREATE TABLE webhooks (
    id          TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    tenant_id   TEXT   REFERENCES tenants (id) ON DELETE CASCADE, -- NULL: the operator's, for the events of all tenants
    url         TEXT   NOT NULL CHECK (url <> ''),
    types       TEXT   NOT NULL, -- each between spaces; '' means all
    sealed      BYTEA  NOT NULL, -- the signing secrets, sealed by core/sealing with the other columns
    created_at  BIGINT NOT NULL,
    disabled_at BIGINT
);

CREATE INDEX webhooks_of_tenant ON webhooks (tenant_id);

-- A queue holds the deliveries of one webhook about one connection, which are sent in order.
CREATE TABLE webhook_queues (
    webhook_id    TEXT   NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    tenant_id     TEXT   NOT NULL,
    connection_id TEXT   NOT NULL,
    last          BIGINT NOT NULL, -- the place of the newest delivery
    next_at       BIGINT,          -- when to send the first one that waits, or when a lease on it ends; NULL: none waits
    owner         TEXT   NOT NULL, -- whose lease it is
    PRIMARY KEY (webhook_id, connection_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX webhook_queues_of_connection ON webhook_queues (tenant_id, connection_id);
CREATE INDEX webhook_queues_due ON webhook_queues (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE deliveries (
    webhook_id    TEXT   NOT NULL,
    id            TEXT   NOT NULL UNIQUE CHECK (id <> ''), -- the webhook-id that receivers see
    connection_id TEXT   NOT NULL,
    place         BIGINT NOT NULL, -- in its queue
    type          TEXT   NOT NULL,
    payload       TEXT   NOT NULL,
    state         TEXT   NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts      BIGINT NOT NULL,
    status        BIGINT NOT NULL, -- of the last response; 0: there was none
    reason        TEXT   NOT NULL, -- why the last attempt failed
    created_at    BIGINT NOT NULL,
    queued_at     BIGINT NOT NULL, -- when it was created, or sent again
    ended_at      BIGINT,
    PRIMARY KEY (webhook_id, id),
    FOREIGN KEY (webhook_id, connection_id) REFERENCES webhook_queues (webhook_id, connection_id) ON DELETE CASCADE,
    CHECK ((state = 'waiting') = (ended_at IS NULL))
);

CREATE INDEX deliveries_of_queue ON deliveries (webhook_id, connection_id, place);
CREATE INDEX deliveries_waiting ON deliveries (webhook_id, connection_id, place) WHERE state = 'waiting';
CREATE INDEX deliveries_oldest ON deliveries (queued_at) WHERE state = 'waiting';
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;

-- Which connections have a provider that does not answer. All replicas report into it, and each change is told once.
CREATE TABLE provider_health (
    connection_id TEXT    NOT NULL PRIMARY KEY REFERENCES connections (id) ON DELETE CASCADE,
    down          BOOLEAN NOT NULL,
    changed_at    BIGINT  NOT NULL
);

CREATE INDEX provider_health_down ON provider_health (connection_id) WHERE down;

-- The status that was told last, and the one before; '' until the connection works for the first time.
ALTER TABLE connections ADD COLUMN reported_status TEXT NOT NULL DEFAULT 'ok';
ALTER TABLE connections ADD COLUMN reported_before TEXT NOT NULL DEFAULT '';
UPDATE connections SET reported_status = status;

ALTER TABLE intents ADD COLUMN request_id TEXT NOT NULL DEFAULT '';
