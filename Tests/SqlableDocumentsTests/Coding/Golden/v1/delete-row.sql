DELETE FROM "bicycle" WHERE "id" = ?
-- 3
