import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Ids and keys of changed rows, with their former values.
@Suite struct ObservedKeysTests {
  /// A REAL key. SQLite stores its integral values as integers.
  private struct Price: Observed.Model {
    static let amount = Column("amount", .real, PrimaryKey())
    static let tableLayout = [amount]
  }

  /// A descending integer key, which is not the rowid because of an old quirk of SQLite.
  private struct Rank: Observed.Model {
    static let id = Column("id", .integer, PrimaryKey(descending: true))
    static let text = Column("text", .nullable(.text))
    static let tableLayout = [id, text]
  }

  @Test(.needsPreupdateHook) func integerKeyUpdateNotifiesObserversOfBothKeys() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      try db.execute("INSERT INTO note (id) VALUES (1), (2)")
      let log = EventLog()
      log.listen(to: db, on: Observed.Note.self, id: 1, as: "of 1: ")
      log.listen(to: db, .update, on: Observed.Note.self, id: 7, as: "of 7: ")
      log.listen(to: db, on: Observed.Note.self, id: 2, as: "of 2: ")
      db.observe(on: Observed.Note.self, id: 1) { id in log.add("id \(id)") }
      try db.execute("UPDATE note SET id = 7 WHERE id = 1")
      #expect(log.take() == ["of 1: update note 1→7", "of 7: update note 1→7", "id 7"])
      try db.execute("UPDATE note SET id = id + 1 WHERE id = 7")
      #expect(log.take() == ["of 7: update note 7→8"])
    }
  }

  @Test(.needsPreupdateHook) func textKeyIsReportedTogetherWithTheRowid() throws {
    try withDatabase { db in
      try db.createTable(Observed.Country.self)
      let log = EventLog()
      log.listen(to: db, on: Observed.Country.self, id: "fr", as: "of fr: ")
      log.listen(to: db, on: Observed.Country.self)
      db.observe(.insert, on: Observed.Country.self) { id in log.add("id \(id)") }
      try db.execute("INSERT INTO country (rowid, code) VALUES (41, 'de'), (42, 'fr')")
      #expect(log.take() == ["insert country de", "id 41", "of fr: insert country fr", "insert country fr", "id 42"])
      try db.execute("UPDATE country SET code = 'it' WHERE code = 'fr'")
      try db.execute("UPDATE country SET name = 'x' WHERE code = 'it'")
      #expect(log.take() == ["of fr: update country fr→it", "update country fr→it", "update country it"])
      // A change of the rowid alone does not change the key.
      try db.execute("UPDATE country SET rowid = 50 WHERE code = 'it'; DELETE FROM country WHERE code = 'it'")
      #expect(log.take() == ["update country it", "delete country it"])
      let text = "a\u{0}b 'ü'"
      try db.execute("INSERT INTO country (code) VALUES (\(text))")
      #expect(log.take() == ["insert country \(text)", "id 42"])
    }
  }

  @Test(.needsPreupdateHook) func keysOfTablesWithoutRowidAreReported() throws {
    try withDatabase { db in
      try db.createTables(Observed.Seat.self, Observed.Slot.self, Observed.Tag.self)
      let log = EventLog()
      log.listen(to: db, on: Observed.Seat.self)
      log.listen(to: db, on: Observed.Slot.self)
      log.listen(to: db, on: Observed.Tag.self)
      log.listen(to: db, on: Observed.Slot.self, id: 5, as: "of 5: ")
      log.listen(to: db, on: Observed.Slot.self, id: 0, as: "of 0: ")
      log.listen(to: db, on: Observed.Tag.self, id: "a", as: "of a: ")
      try db.execute("INSERT INTO seat VALUES (NULL, 1, 'x'); UPDATE seat SET number = 2")
      try db.execute("UPDATE seat SET holder = 'Ada'")
      try db.execute("DELETE FROM seat WHERE holder = 'Ada'")
      #expect(log.take() == ["insert seat x,1", "update seat x,1→x,2", "update seat x,2", "delete seat x,2"])
      try db.execute("INSERT INTO slot (id) VALUES (4); UPDATE slot SET id = 5")
      try db.execute("UPDATE slot SET id = 0; DELETE FROM slot")
      #expect(
        log.take() == [
          "insert slot 4",
          "update slot 4→5",
          "of 5: update slot 4→5",
          "update slot 5→0",
          "of 5: update slot 5→0",
          "of 0: update slot 5→0",
          "delete slot 0",
          "of 0: delete slot 0",
        ])
      try db.execute("INSERT INTO tag VALUES (1, 'a'); UPDATE tag SET label = 'b'; DELETE FROM tag")
      #expect(
        log.take() == [
          "insert tag a",
          "of a: insert tag a",
          "update tag a→b",
          "of a: update tag a→b",
          "delete tag b",
        ])
    }
  }

  @Test(.needsPreupdateHook) func tablesWithoutRowidReportIntegerKeysAsIds() throws {
    try withDatabase { db in
      try db.createTables(Observed.Seat.self, Observed.Slot.self, Observed.Tag.self)
      let log = EventLog()
      log.listenToAll(of: db)
      let write: SQL =
        "REPLACE INTO seat VALUES ('Ada', 9, 'x'); REPLACE INTO slot VALUES ('a', 8); REPLACE INTO tag VALUES (7, 'a')"
      try db.execute(write)
      #expect(log.take() == ["insert seat 0", "insert slot 8", "insert tag 0"])
      // Observers of the tables get the same ids.
      for model in [Observed.Seat.self, Observed.Slot.self, Observed.Tag.self] as [any Sqlable.Type] {
        func listen(_ model: (some Sqlable).Type) { db.observe(.insert, on: model) { id in log.add("id \(id)") } }
        listen(model)
      }
      try db.execute(write)
      #expect(
        log.take() == [
          "delete seat 0",
          "insert seat 0",
          "id 0",
          "delete slot 8",
          "insert slot 8",
          "id 8",
          "delete tag 0",
          "insert tag 0",
          "id 0",
        ])
    }
  }

  @Test(.needsPreupdateHook) func rowChangeHasOldAndNewIdsAndKeys() throws {
    try withDatabase { db in
      try db.createTables(Observed.Slot.self, Observed.Country.self)
      let log = EventLog()
      for change in Change.allCases {
        db.observe(change, on: Observed.Slot.self) { (row: RowChange) in
          log.add("\(row.previousId) \(row.id) \(row.previousKey == [.integer(Int64(row.previousId))])")
        }
        db.observe(change, on: Observed.Country.self) { (row: RowChange) in log.add("\(row.previousId) \(row.id)") }
      }
      try db.execute("INSERT INTO slot (id) VALUES (4); UPDATE slot SET id = 5; DELETE FROM slot")
      #expect(log.take() == ["4 4 true", "4 5 true", "5 5 true"])
      try db.execute("INSERT INTO country (rowid, code) VALUES (4, 'x'); UPDATE country SET rowid = 5")
      try db.execute("DELETE FROM country")
      #expect(log.take() == ["4 4", "4 5", "5 5"])
    }
  }

  @Test(.needsPreupdateHook) func integralRealKeyIsReportedAsReal() throws {
    try withDatabase { db in
      try db.createTable(Price.self)
      let log = EventLog()
      log.listen(to: db, on: Price.self)
      log.listen(to: db, on: Price.self, id: 2.0, as: "of 2: ")
      try db.execute("INSERT INTO price VALUES (2.0), (2.5); UPDATE price SET amount = 3 WHERE amount = 2")
      try db.execute("DELETE FROM price")
      #expect(
        log.take() == [
          "insert price 2.0",
          "of 2: insert price 2.0",
          "insert price 2.5",
          "update price 2.0→3.0",
          "of 2: update price 2.0→3.0",
          "delete price 3.0",
          "delete price 2.5",
        ])
    }
  }

  @Test(.needsPreupdateHook) func aDescendingIntegerKeyIsTheId() throws {
    try withDatabase { db in
      try db.createTable(Rank.self)
      let log = EventLog()
      db.observe(on: Rank.self) { id in log.add("id \(id)") }
      db.observe(on: Rank.self, id: 70) { id in log.add("of 70: \(id)") }
      db.observe(on: Rank.self, id: 1) { id in log.add("of 1: \(id)") }
      log.listenToAll(of: db)
      try db.execute("INSERT INTO rank (id) VALUES (70); UPDATE rank SET id = 80; DELETE FROM rank")
      #expect(
        log.take() == [
          "insert rank 70",
          "id 70",
          "of 70: 70",
          "update rank 80",
          "id 80",
          "of 70: 80",
          "delete rank 80",
          "id 80",
        ])
    }
  }

  // MARK: Tables that come and go

  @Test(.needsPreupdateHook) func tableCreatedAfterItsObserverIsObserved() throws {
    try withDatabase { db in
      let log = EventLog()
      log.listen(to: db, on: Observed.Country.self)
      log.listen(to: db, on: Observed.Seat.self)
      try db.createTable(Observed.Country.self)
      try db.execute("INSERT INTO country (code) VALUES ('de')")
      #expect(log.take() == ["insert country de"])
      try db.transaction { db in
        try db.createTable(Observed.Seat.self)
        try db.execute("INSERT INTO seat VALUES (NULL, 1, 'x')")
      }
      #expect(log.take() == ["insert seat x,1"])
    }
  }

  @Test(.needsPreupdateHook) func tableCreatedAndWrittenInOneTransactionIsObserved() throws {
    try withDatabase { db in
      let log = EventLog()
      log.listen(to: db, on: OrderTag.self)
      try db.transaction { db in
        try db.createTable(OrderTag.self)
        try OrderTag("Rome").insert().run(db)
        try OrderTag("Rome").delete().run(db)
      }
      #expect(log.take() == ["insert order_tag Rome", "delete order_tag Rome"])
    }
  }

  @Test(.needsPreupdateHook) func recreatedTableReportsItsNewKey() throws {
    try withDatabase { db in
      try db.createTable(Observed.Country.self)
      let log = EventLog()
      log.listen(to: db, on: Observed.Country.self)
      try db.execute("INSERT INTO country VALUES ('de', 'Germany')")
      #expect(log.take() == ["insert country de"])
      try db.execute("DROP TABLE country")
      #expect(log.take() == [])
      try db.execute("CREATE TABLE country (name TEXT, code TEXT, PRIMARY KEY (name, code)) WITHOUT ROWID")
      try db.execute("INSERT INTO country VALUES ('Germany', 'de')")
      #expect(log.take() == ["insert country Germany,de"])
      // The rollback and the second table lead to the same schema version.
      try db.transaction { db in
        try db.transaction { db in
          try db.execute("DROP TABLE country; CREATE TABLE country (code INTEGER PRIMARY KEY)")
          try db.execute("INSERT INTO country VALUES (1)")
          return .rollback
        }
        try db.execute("DROP TABLE country; CREATE TABLE country (code TEXT PRIMARY KEY)")
        try db.execute("INSERT INTO country VALUES ('fr')")
      }
      #expect(log.take() == ["insert country fr"])
    }
  }

  @Test(.needsPreupdateHook) func tableRecreatedByAnotherHandleIsObserved() throws {
    try withDatabase { db in
      try db.createTable(Observed.Country.self)
      let log = EventLog()
      log.listen(to: db, on: Observed.Country.self)
      try db.execute("INSERT INTO country VALUES ('de', 'Germany')")
      let child = try db.createChild()
      try child.execute("DROP TABLE country; CREATE TABLE country (name TEXT, code TEXT PRIMARY KEY)")
      try db.execute("INSERT INTO country VALUES ('Germany', 'de')")
      #expect(log.take() == ["insert country de", "insert country de"])
    }
  }
}
