SELECT count(*) FROM (SELECT DISTINCT "bicycle"."color" FROM "bicycle" LIMIT ?)
-- 3
