UPDATE "bicycle" SET "color" = ?, "owner_id" = ? WHERE "id" = ?
-- "red"
-- NULL
-- 3
