SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "id" BETWEEN ? AND ?
-- 3
-- 7
