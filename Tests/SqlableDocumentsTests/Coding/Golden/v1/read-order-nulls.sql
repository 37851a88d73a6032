SELECT "id", "name", "color", "owner_id" FROM "bicycle" ORDER BY "owner_id" NULLS LAST, "id" DESC NULLS FIRST
