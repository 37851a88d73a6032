SELECT json_set("name", '$.a', json(?)), json_set("name", '$.b', json(?)) FROM "car"
-- "true"
-- "[\"x\"]"
