SELECT "id", "name", "price", "is_electric", "sold_at" FROM "car" WHERE ("name", "price") IN (VALUES (?, ?), (?, ?))
-- "N"
-- 3.0
-- "T"
-- 4.0
