SELECT "id", "name", "color", "owner_id" FROM "bicycle" INDEXED BY "bicycle_color" WHERE "color" = ?
-- "red"
