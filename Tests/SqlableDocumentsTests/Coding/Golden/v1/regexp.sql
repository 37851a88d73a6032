SELECT "id", "name", "price", "is_electric", "sold_at" FROM "car" WHERE "name" REGEXP ? AND NOT "name" REGEXP ?
-- "^N"
