SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE CASE WHEN "id" > ? THEN ? END = ?
-- 1
-- "a"
-- "a"
