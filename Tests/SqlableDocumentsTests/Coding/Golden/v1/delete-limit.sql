DELETE FROM "bicycle" WHERE "id" IN (SELECT "id" FROM "bicycle" WHERE "color" = ? ORDER BY "id" LIMIT ?)
-- "red"
-- 2
