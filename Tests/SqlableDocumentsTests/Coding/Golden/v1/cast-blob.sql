SELECT "id", "name", "color", "owner_id" FROM "bicycle" ORDER BY CAST("name" AS BLOB)
