SELECT count(*) FROM "bicycle" WHERE "owner_id" IS NULL
