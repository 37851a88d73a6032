SELECT "bicycle"."id", "bicycle"."name", "bicycle"."color", "bicycle"."owner_id", "person"."id", "person"."name" FROM "bicycle" RIGHT JOIN "person" ON "bicycle"."owner_id" = "person"."id"
