SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "id" = ? LIMIT ?
-- 7
-- 1
