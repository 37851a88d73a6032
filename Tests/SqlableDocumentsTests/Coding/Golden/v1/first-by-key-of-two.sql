SELECT "row", "letter", "price", "label" FROM "seat" WHERE "row" = ? AND "letter" = ? LIMIT ?
-- 7
-- "A"
-- 1
