SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "id" > ? AND "id" < ? OR "color" = ?
-- 1
-- 9
-- "red"
