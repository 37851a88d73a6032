SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE ("id" + ? - ?) * ? / ? % ? = ?
-- 1
-- 2
-- 3
-- 4
-- 5
-- 6
