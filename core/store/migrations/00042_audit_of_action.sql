-- +goose Up

-- Changes by administrators are listed by their kind. Those by callers are left out: they are nearly all rows, and the
-- index would be one more page to write in each booking.
CREATE INDEX audit_of_action ON audit (action, at, uid)
    WHERE action NOT IN ('book-meeting', 'cancel-meeting', 'create-ticket', 'hold-slot', 'release-hold', 'update-meeting');

-- A program that does not know the index works with it as well.
INSERT INTO schema_compatibility (version, least) VALUES (42, 30);
