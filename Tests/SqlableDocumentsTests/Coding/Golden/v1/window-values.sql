SELECT nth_value("name", ?) OVER (ORDER BY "id"), lag("price", ?, ?) OVER (ORDER BY "id"), lead("name", ?, "name") OVER (ORDER BY "id") FROM "car"
-- 2
-- 1
-- 0.0
-- 2
