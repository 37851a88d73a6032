SELECT EXISTS (SELECT 1 FROM "bicycle" JOIN "person" ON "bicycle"."owner_id" = "person"."id")
