SELECT abs("price"), round("price", 2), random(), coalesce("id", ?), nullif("name", ?), min("price", ?), max("price", ?) FROM "car"
-- 0
-- ""
-- 9.0
-- 9.0
