SELECT lower("name"), upper("name"), length("name"), substr("name", 2, 3), trim("name"), ltrim("name", 'x'), rtrim("name", 'x'), replace("name", ?, ?), instr("name", ?), unicode("name"), hex("name"), typeof("name") FROM "car"
-- "a"
-- "b"
-- "a"
