SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "id" IN ()
