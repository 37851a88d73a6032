SELECT pi(), sqrt("price"), exp("price"), ln("price"), log10("price"), log2("price"), log(?, "price"), pow("price", ?), mod("price", ?), floor("price"), ceil("price"), trunc("price"), sign("price"), degrees("price"), radians("price"), atan2("price", "id") FROM "car"
-- 3.0
-- 2.0
-- 0.5
