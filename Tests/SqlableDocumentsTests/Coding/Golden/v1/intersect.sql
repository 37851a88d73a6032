SELECT "name" FROM "car" WHERE "price" < ? INTERSECT SELECT "name" FROM "car" WHERE "is_electric" = ?
-- 10000.0
-- 1
