SELECT "id", "name", "color", "owner_id" FROM "bicycle" ORDER BY "id" DESC LIMIT ?
-- 1
