SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE EXISTS (SELECT 1 FROM "person" WHERE "person"."id" = "bicycle"."owner_id")
