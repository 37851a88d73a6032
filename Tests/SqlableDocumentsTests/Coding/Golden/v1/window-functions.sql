SELECT row_number() OVER (ORDER BY "id"), dense_rank() OVER (ORDER BY "id"), percent_rank() OVER (ORDER BY "id"), cume_dist() OVER (ORDER BY "id"), ntile(?) OVER (ORDER BY "id"), lag("name", ?) OVER (ORDER BY "id"), lead("name", ?) OVER (ORDER BY "id"), first_value("name") OVER (ORDER BY "id"), last_value("name") OVER (ORDER BY "id") FROM "car"
-- 4
-- 1
-- 2
