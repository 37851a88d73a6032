DELETE FROM "bicycle" WHERE "color" = ?
-- "red"
