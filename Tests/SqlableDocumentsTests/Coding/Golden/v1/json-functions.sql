SELECT json_extract("name", '$.age'), json_array_length("name", '$.pets'), json_type("name", '$'), json_object(?, "name"), json_array("name", "price"), json_group_array("name") FROM "car"
-- "name"
