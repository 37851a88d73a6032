SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE NOT "color" = ?
-- "red"
