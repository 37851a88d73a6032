UPDATE "bicycle" SET "color" = ? WHERE "id" IN (SELECT "id" FROM "bicycle" ORDER BY "id" LIMIT max(? + ?, 0) OFFSET max(?, 0))
-- "blue"
-- 2
-- 1
