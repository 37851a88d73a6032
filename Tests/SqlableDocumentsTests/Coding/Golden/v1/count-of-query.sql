SELECT count(*) FROM "bicycle" JOIN "person" ON "bicycle"."owner_id" = "person"."id" WHERE "person"."name" = ?
-- "Anna"
