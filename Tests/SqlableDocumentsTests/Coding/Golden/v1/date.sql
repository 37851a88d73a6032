SELECT "id", "name", "price", "is_electric", "sold_at" FROM "car" WHERE date("sold_at", 'unixepoch') = ? AND strftime('%Y-%m', "sold_at", 'unixepoch') = ?
-- "2024-01-31"
-- "2024-01"
