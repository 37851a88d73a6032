SELECT "name" FROM "car" WHERE "price" < ? EXCEPT SELECT "name" FROM "car" WHERE "is_electric" = ?
-- 10000.0
-- 1
