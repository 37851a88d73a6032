UPDATE "bicycle" SET "color" = ? WHERE "id" IN (SELECT "id" FROM "bicycle" ORDER BY "id" LIMIT ? OFFSET ?)
-- "blue"
-- 2
-- 1
