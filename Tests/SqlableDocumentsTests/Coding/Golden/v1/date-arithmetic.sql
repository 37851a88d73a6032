SELECT CAST(strftime('%S', "sold_at", 'unixepoch') AS INTEGER), CAST(strftime('%j', "sold_at", 'unixepoch') AS INTEGER), CAST(strftime('%s', strftime('%Y-%m-%dT%H:%M:%S.000', "sold_at", 'unixepoch')) AS REAL), CAST(strftime('%s', strftime('%Y-%m-%dT%H:%M:00.000', "sold_at", 'unixepoch')) AS REAL), CAST(strftime('%s', strftime('%Y-%m-%dT%H:00:00.000', "sold_at", 'unixepoch')) AS REAL), CAST(strftime('%s', "sold_at", 'unixepoch', 'start of day') AS REAL), CAST(strftime('%s', "sold_at", 'unixepoch', '-6 days', 'weekday 1', 'start of day') AS REAL), CAST(strftime('%s', "sold_at", 'unixepoch', 'start of month') AS REAL), CAST(strftime('%s', "sold_at", 'unixepoch', 'start of year') AS REAL) FROM "car" WHERE CAST("sold_at" AS REAL) - CAST(round((julianday("sold_at", 'unixepoch', length("name") || ' months') - 2440587.5) * 86400.0, 3) AS REAL) < ? AND (CAST("sold_at" AS REAL) - ?) / ? > ? AND ("sold_at" + ?) > ?
-- 60.0
-- 1700000000.25
-- 86400.0
-- 1.5
-- 604800
-- 1700000000.25
