SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "owner_id" IS NULL AND "id" > ? ORDER BY "owner_id" NULLS LAST, "id" LIMIT ?
-- 3
-- 2
