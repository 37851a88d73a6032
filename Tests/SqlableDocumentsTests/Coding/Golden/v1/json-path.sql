SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "name" -> '$.a[#-1]' = ? OR "name" ->> '$."b c"' = ?
-- "x"
-- "x"
