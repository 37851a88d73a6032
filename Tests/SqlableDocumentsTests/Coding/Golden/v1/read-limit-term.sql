SELECT "id", "name", "color", "owner_id" FROM "bicycle" ORDER BY "id" LIMIT max(?, 0) OFFSET max(?, 0)
