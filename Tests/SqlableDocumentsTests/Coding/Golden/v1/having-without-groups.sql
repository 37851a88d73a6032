SELECT max("id") FROM "bicycle" HAVING count(*) > ?
-- 1
