SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "owner_id" IS NULL OR "owner_id" IS NOT NULL
