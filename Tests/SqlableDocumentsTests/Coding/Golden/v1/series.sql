WITH RECURSIVE "n" ("c1") AS (SELECT * FROM (VALUES (?)) UNION ALL SELECT "n"."c1" + ? FROM "n" WHERE "n"."c1" < ?) SELECT "n"."c1" FROM "n"
-- 1
-- 2
-- 9
