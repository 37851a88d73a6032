WITH RECURSIVE "n" ("c1") AS (WITH RECURSIVE "n_bounds" ("c1", "c2") AS (VALUES (?, ?)) SELECT "n_bounds"."c1" FROM "n_bounds" WHERE "n_bounds"."c1" <= "n_bounds"."c2" UNION ALL SELECT "n"."c1" + ? FROM "n" CROSS JOIN "n_bounds" WHERE "n"."c1" + ? <= "n_bounds"."c2") SELECT "n"."c1" FROM "n" CROSS JOIN "n" AS "m"
-- 1
-- 1
