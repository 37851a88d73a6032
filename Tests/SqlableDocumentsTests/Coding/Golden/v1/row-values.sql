SELECT "id", "name", "price", "is_electric", "sold_at" FROM "car" WHERE ("name", "price") < (?, ?) AND ("name", "price") <> ("name", "price")
-- "N"
-- 3.0
