UPDATE "bicycle" SET "name" = ?, "color" = ? WHERE "id" = ?
-- "Norco"
-- "red"
-- 3
