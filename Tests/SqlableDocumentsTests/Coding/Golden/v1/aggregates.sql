SELECT avg("price"), sum(DISTINCT "price"), total("price"), min("price"), max("price") FILTER (WHERE "is_electric" = ?), count(DISTINCT "name"), count(*), group_concat("name", ?) FROM "car"
-- 1
-- "; "
