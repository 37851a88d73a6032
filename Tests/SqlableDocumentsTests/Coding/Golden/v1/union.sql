SELECT "name" FROM "car" WHERE "price" < ? UNION SELECT "name" FROM "car" WHERE "is_electric" = ? ORDER BY "name" LIMIT ?
-- 10000.0
-- 1
-- 10
