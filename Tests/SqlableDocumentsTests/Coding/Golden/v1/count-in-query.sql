SELECT (SELECT count(*) FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id") FROM "person"
