-- The tables whose models are PrintedModels.swift.
CREATE TABLE maker ("code" TEXT PRIMARY KEY NOT NULL, "full name" TEXT NOT NULL UNIQUE) WITHOUT ROWID;
CREATE TABLE product (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sku VARCHAR(8) NOT NULL, name TEXT NOT NULL COLLATE NOCASE DEFAULT 'it''s "\(x)"',
  price REAL NOT NULL DEFAULT -0.25 CHECK (price > -1), is_sold BOOLEAN, made_at TIMESTAMP, picture BLOB,
  maker_code TEXT NOT NULL REFERENCES maker (code) ON DELETE CASCADE,
  maker_name TEXT REFERENCES maker ("full name") ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED,
  parent_id INTEGER REFERENCES product (id) ON DELETE SET NULL,
  doubled REAL NOT NULL GENERATED ALWAYS AS (price * 2) STORED, HTTPCode INTEGER, "column" TEXT, "default" TEXT, row INTEGER,
  UNIQUE (sku, name), CHECK (length(sku) > 1));
CREATE INDEX product_price_desc ON product (price DESC);
CREATE UNIQUE INDEX by_sku ON product (sku);
CREATE TABLE berth (deck INTEGER NOT NULL, number INTEGER NOT NULL, guest TEXT, any_value ANY, PRIMARY KEY (deck, number DESC)) STRICT;
CREATE INDEX berth_guest_deck ON berth (guest, deck);
CREATE TABLE left_side (a TEXT UNIQUE REFERENCES right_side (b), b TEXT);
CREATE TABLE right_side (b TEXT UNIQUE REFERENCES left_side (a));
CREATE TABLE countdown (number INTEGER, note TEXT, PRIMARY KEY (number DESC));
CREATE TABLE "odd ""table""" (a INT);
CREATE TABLE rule (
  id INTEGER PRIMARY KEY ON CONFLICT REPLACE, a TEXT CONSTRAINT filled NOT NULL ON CONFLICT REPLACE DEFAULT 'x',
  b TEXT CONSTRAINT only_one UNIQUE ON CONFLICT IGNORE, c INTEGER CONSTRAINT parent REFERENCES rule (id));
CREATE VIRTUAL TABLE memo USING fts5(title, source UNINDEXED, tokenize = 'porter unicode61 remove_diacritics 2');
CREATE VIEW cheap AS SELECT id, price FROM product;
INSERT INTO maker VALUES ('n', 'Norco'), ('k', 'Kona');
INSERT INTO product (sku, name, is_sold, made_at, maker_code, maker_name, "HTTPCode") VALUES
  ('ab', 'one', 1, 1700000000, 'n', 'Norco', 200), ('cd', 'two', 0, 1700000001, 'k', NULL, NULL);
INSERT INTO berth VALUES (1, 2, 'Anna', 5), (1, 3, NULL, 6);
INSERT INTO left_side VALUES ('x', 'y');
INSERT INTO countdown (note) VALUES ('ten'), ('nine');
INSERT INTO "odd ""table""" VALUES (1), ('one');
INSERT INTO rule (b) VALUES ('y');
INSERT INTO memo (title, source) VALUES ('running', 'here');
