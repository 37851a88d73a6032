SELECT json_set("name", '$.age', ?), json_insert("name", '$.pets[0]', "name" -> '$.pets'), json_replace("name", '$.age', ?), json_remove("name", '$.pets[#-1]'), json_patch("name", ?), json_group_object("name", "price") FROM "car"
-- 3
-- NULL
-- "{}"
