SELECT "bicycle"."id", "bicycle"."name", "bicycle"."color", "bicycle"."owner_id", "person"."id", "person"."name" FROM "bicycle" JOIN "person" ON "bicycle"."owner_id" = "person"."id"
