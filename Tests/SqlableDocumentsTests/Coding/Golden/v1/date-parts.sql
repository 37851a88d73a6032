SELECT "id", "name", "price", "is_electric", "sold_at" FROM "car" WHERE CAST(strftime('%Y', "sold_at", 'unixepoch') AS INTEGER) = ? AND CAST(strftime('%m', "sold_at", 'unixepoch') AS INTEGER) = ? AND CAST(strftime('%d', "sold_at", 'unixepoch') AS INTEGER) = ? AND CAST(strftime('%H', "sold_at", 'unixepoch') AS INTEGER) = ? AND CAST(strftime('%M', "sold_at", 'unixepoch') AS INTEGER) = ? AND CAST(strftime('%w', "sold_at", 'unixepoch') AS INTEGER) = ?
-- 2024
-- 2
-- 3
-- 4
-- 5
-- 6
