WITH RECURSIVE "per_name" ("c1", "c2", "c3") AS (SELECT "name", avg("price"), max("sold_at") FROM "car" GROUP BY "name") SELECT "car"."name", "per_name"."c2" FROM "car" CROSS JOIN "per_name"
