-- Whose a number is: one row for each number of a realm, from when a purchase has chosen it until it is given back. And
-- where a purchase stands, which was spread over a flag, the number and the plan of its intent.

-- +goose Up

CREATE TABLE purchases_with_state (
    id            TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    tenant_id     TEXT   NOT NULL,
    connection_id TEXT   NOT NULL,
    realm         TEXT   NOT NULL,
    state         TEXT   NOT NULL CHECK (state IN ('reserved', 'chosen', 'ordered', 'filled', 'returning', 'done', 'returned')),
    e164          TEXT   NOT NULL,
    refusal       TEXT   NOT NULL, -- why the number could not be set up, as JSON; '' where nothing was refused
    revision      BIGINT NOT NULL, -- of the connection whose settings were refused; 0 where none were
    runner        TEXT   NOT NULL, -- the run that may take the next step
    created_at    BIGINT NOT NULL,
    CHECK (state <> 'reserved' OR e164 = ''),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);

-- The plan of an unfinished intent says how far an order got. Its text is matched as it was written: in a string of JSON no
-- quotation mark is without a backslash. Of an open purchase whose number is held, the number was held before: it chooses
-- another one.
INSERT INTO purchases_with_state (id, tenant_id, connection_id, realm, state, e164, refusal, revision, runner, created_at)
SELECT id, tenant_id, connection_id, realm, state, CASE WHEN state = 'reserved' THEN '' ELSE e164 END,
    CASE WHEN state IN ('returning', 'returned') THEN plan ELSE '' END, 0, '', created_at
FROM (
    SELECT id, tenant_id, connection_id, realm, e164, plan, created_at, CASE
        WHEN bought = 1 AND plan LIKE '%"undo":{%' THEN 'returned'
        WHEN bought = 1 THEN 'done'
        WHEN e164 = '' OR held > 0 THEN 'reserved'
        WHEN plan LIKE '%"undo":{%' THEN 'returning'
        WHEN plan LIKE '%"reached":"filled"%' THEN 'filled'
        WHEN plan LIKE '%"reached":"under_way"%' THEN 'ordered'
        ELSE 'chosen' END AS state
    FROM (
        SELECT p.id, p.tenant_id, p.connection_id, p.realm, p.e164, p.bought, p.created_at,
            COALESCE((SELECT MAX(i.plan) FROM intents i WHERE i.tenant_id = p.tenant_id AND i.effect_key = p.id AND i.state <> 'done'), '') AS plan,
            (SELECT COUNT(*) FROM numbers n WHERE n.realm = p.realm AND n.e164 = p.e164 AND n.released_at IS NULL) AS held
        FROM purchases p
    ) AS planned
) AS standing;

DROP TABLE purchases;
ALTER TABLE purchases_with_state RENAME TO purchases;
CREATE INDEX purchases_of_connection ON purchases (tenant_id, connection_id);
CREATE INDEX purchases_of_tenant ON purchases (tenant_id, created_at);

CREATE TABLE number_claims (
    realm       TEXT   NOT NULL,
    e164        TEXT   NOT NULL CHECK (e164 <> ''),
    purchase_id TEXT   UNIQUE REFERENCES purchases (id) ON DELETE CASCADE,
    number_id   BIGINT UNIQUE REFERENCES numbers (id) ON DELETE CASCADE,
    PRIMARY KEY (realm, e164),
    CHECK ((purchase_id IS NULL) <> (number_id IS NULL))
);

INSERT INTO number_claims (realm, e164, number_id) SELECT realm, e164, id FROM numbers WHERE released_at IS NULL;
INSERT INTO number_claims (realm, e164, purchase_id) SELECT realm, e164, id FROM purchases WHERE state IN ('chosen', 'ordered', 'filled', 'returning');

DROP INDEX numbers_by_e164;
CREATE INDEX numbers_by_e164 ON numbers (realm, e164);
