SELECT "id", "name", "price", "is_electric", "sold_at" FROM "car" WHERE ("sold_at" + ?) > ? AND round((julianday("sold_at", 'unixepoch', ?) - 2440587.5) * 86400.0, 3) > ? AND ("sold_at" + ?) > ? ORDER BY ("sold_at" + ?), ("sold_at" + ?), round((julianday("sold_at", 'unixepoch', ?) - 2440587.5) * 86400.0, 3)
-- 86400
-- 1700000000.25
-- "-2 months"
-- 1700000000.25
-- 3
-- 1700000000.25
-- 240
-- 18000
-- "+6 years"
