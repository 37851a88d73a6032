SELECT printf('%s: %.2f', "name", "price") FROM "car"
