SELECT "name" FROM "car" WHERE "price" < ? UNION ALL SELECT "name" FROM "car" WHERE "is_electric" = ?
-- 10000.0
-- 1
