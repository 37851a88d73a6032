SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "name" LIKE ? OR "name" LIKE ? ESCAPE '!'
-- "N%"
-- "50!%%"
