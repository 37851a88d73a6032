SELECT * FROM (VALUES (?), (?)) UNION SELECT "name" FROM "car" WHERE "price" < ? ORDER BY 1
-- "x"
-- "y"
-- 10000.0
