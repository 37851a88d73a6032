SELECT "name", ? FROM "car"
-- x'0102ff'
