SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "id" <= ? OR "id" >= ? OR "id" <> ?
-- 1
-- 2
-- 3
