SELECT "car"."id", "tag"."value" FROM "car" JOIN json_each("car"."name", '$.tags[0]') AS "tag"
