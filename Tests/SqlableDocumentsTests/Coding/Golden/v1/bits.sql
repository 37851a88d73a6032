SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "id" & ? = ? OR "id" | ? = ? OR "id" << ? = ? OR "id" >> ? = ? OR ~"id" = ?
-- 1
-- 1
-- 2
-- 2
-- 3
-- 3
-- 4
-- 4
-- 5
