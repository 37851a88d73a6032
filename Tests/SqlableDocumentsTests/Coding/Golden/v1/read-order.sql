SELECT "id", "name", "color", "owner_id" FROM "bicycle" ORDER BY "color", "id" DESC
