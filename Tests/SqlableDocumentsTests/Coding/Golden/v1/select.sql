SELECT "name", "price" FROM "car" WHERE "price" < ? ORDER BY "price" DESC
-- 20000.0
