SELECT group_concat("name", ? ORDER BY "price" DESC, "id") FILTER (WHERE "is_electric" = ?), group_concat(DISTINCT "name" ORDER BY "name" NULLS LAST), total(DISTINCT "price"), json_group_array(DISTINCT "name" ORDER BY "name"), json_group_object("name", "price" ORDER BY "id") FROM "car"
-- "; "
-- 1
