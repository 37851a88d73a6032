DELETE FROM "bicycle" WHERE "color" = ? RETURNING "id", "name", "color", "owner_id"
-- "red"
