SELECT json_type("name", '$') FROM "car" WHERE json_valid("name")
