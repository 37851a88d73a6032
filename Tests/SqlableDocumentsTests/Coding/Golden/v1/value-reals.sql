SELECT count(*) FROM "seat" WHERE "price" < ? AND "price" > ? AND "price" = ?
-- inf
-- -inf
-- -0.0
