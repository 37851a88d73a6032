SELECT "id", "name", "color", "owner_id" FROM "bicycle" ORDER BY "id" LIMIT ? OFFSET ?
-- 3
-- 2
