SELECT "bicycle"."id", "bicycle"."name", "bicycle"."color", "bicycle"."owner_id", "person"."id", "person"."name" FROM "bicycle" CROSS JOIN "person"
