WITH RECURSIVE "t" ("c1", "c2") AS (VALUES (?, ?)) SELECT "t"."c1", "t"."c2" FROM "t"
-- 1
-- 2
