WITH RECURSIVE "rate" ("c1", "c2") AS (VALUES (?, ?), (?, ?)) SELECT "car"."name", "rate"."c1", "car"."price" * "rate"."c2" FROM "car" JOIN "rate" ON ?
-- "EUR"
-- 1.0
-- "USD"
-- 1.08
-- 1
