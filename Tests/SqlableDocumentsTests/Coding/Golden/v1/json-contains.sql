SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE ? IN (SELECT "element"."value" FROM json_each("bicycle"."name", '$.tags') AS "element")
-- "x"
