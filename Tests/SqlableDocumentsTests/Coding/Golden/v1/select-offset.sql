SELECT "id" FROM "bicycle" LIMIT ? OFFSET max(? + ?, 0)
-- -1
-- 2
-- 1
