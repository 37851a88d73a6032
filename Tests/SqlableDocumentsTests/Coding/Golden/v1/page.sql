SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" <= ? AND ("color" < ? OR "id" < ?) ORDER BY "color" DESC, "id" DESC LIMIT ?
-- "red"
-- "red"
-- 3
-- 2
