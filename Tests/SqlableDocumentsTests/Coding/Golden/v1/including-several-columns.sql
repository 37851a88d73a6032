SELECT "number", "shop" FROM "shop_order"
