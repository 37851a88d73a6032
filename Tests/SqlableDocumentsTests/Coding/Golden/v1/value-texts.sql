SELECT "row", "letter", "price", "label" FROM "seat" WHERE "price" = ? OR "price" = ? OR "letter" = ?
-- 0.1
-- 2.0
-- "é\0\"\\\n😀"
