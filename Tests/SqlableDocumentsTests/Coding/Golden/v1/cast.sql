SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE CAST("id" AS REAL) = ? OR CAST("name" AS INTEGER) = ? OR CAST("id" AS TEXT) = ?
-- 1
-- 1
-- "1"
