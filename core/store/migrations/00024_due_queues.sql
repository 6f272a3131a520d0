-- +goose Up

-- The queues of a webhook by when they are due, so that a round reads the first few of each webhook only.
CREATE INDEX webhook_queues_first ON webhook_queues (webhook_id, next_at, connection_id)
    WHERE next_at IS NOT NULL;
DROP INDEX webhook_queues_due;
