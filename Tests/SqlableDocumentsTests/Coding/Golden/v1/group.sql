SELECT "color", count(*) FROM "bicycle" GROUP BY "color" HAVING count(*) > ?
-- 1
