SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "name" COLLATE NOCASE = ? OR "name" COLLATE "own" = ?
-- "norco"
-- "x"
