SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "owner_id" IS NOT "id" OR "owner_id" IS "id"
