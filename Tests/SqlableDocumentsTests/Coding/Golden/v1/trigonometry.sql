SELECT sin("price"), cos("price"), tan("price"), asin("price"), acos("price"), atan("price"), sinh("price"), cosh("price"), tanh("price"), asinh("price"), acosh("price"), atanh("price") FROM "car"
