SELECT "person"."id", "person"."name", "b"."id", "b"."name", "b"."color", "b"."owner_id" FROM "person" NOT INDEXED JOIN "bicycle" AS "b" INDEXED BY "bicycle_color" ON "person"."id" > ?
-- 1
