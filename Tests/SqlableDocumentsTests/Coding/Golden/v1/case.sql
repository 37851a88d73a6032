SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE CASE WHEN "id" > ? THEN ? WHEN "id" > ? THEN ? ELSE ? END = ?
-- 1
-- "a"
-- 2
-- "b"
-- "c"
-- "b"
