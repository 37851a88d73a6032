SELECT "bicycle"."id", "bicycle"."name", "bicycle"."color", "bicycle"."owner_id" FROM "bicycle" JOIN "person" ON "bicycle"."owner_id" = "person"."id" WHERE "person"."name" = ?
-- "Anna"
