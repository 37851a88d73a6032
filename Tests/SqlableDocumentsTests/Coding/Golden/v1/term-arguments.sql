SELECT substr("name", instr("name", ?), length("name")), round("price", length("name")) FROM "car" WHERE "name" LIKE "name" AND "name" GLOB "name" AND substr(CAST(lower("name") || ? AS BLOB), length(CAST("name" AS BLOB)) - length(CAST(trim("name") AS BLOB)) + ?) = CAST(lower(trim("name")) || ? AS BLOB) AND "price" BETWEEN "price" AND ?
-- "a"
-- "."
-- 1
-- "."
-- 9.0
