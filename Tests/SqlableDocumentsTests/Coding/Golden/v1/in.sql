SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "owner_id" IN (?, ?, ?, ?)
-- 1
-- 2
-- NULL
-- NULL
