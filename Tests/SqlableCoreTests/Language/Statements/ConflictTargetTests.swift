import SqlableCore
import Testing

@testable import SqlableTestSupport

@Suite struct ConflictTargetTests {
  @Test func upsertWithoutUniqueIndexNamesTheColumns() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE bicycle (id INTEGER PRIMARY KEY, name TEXT, color TEXT, owner_id INTEGER)")
      let bike = Bicycle(name: "Norco", color: "red")
      let upsert = bike.insert().onConflict(Bicycle.name, Bicycle.color, update: Bicycle.ownerId)
      let error = sqlError { try upsert.run(db) }
      let message = """
        table bicycle has no unique index for ON CONFLICT (name, color); declare Unique(…) or Index(…, unique: true) \
        of these columns in the model, and add it to the table with a plan or a migration; for a partial index, \
        pass its condition to onConflict
        """
      #expect(error?.message == message)
      #expect(error?.kind == .schema(.mismatch(message)))
      #expect(error?.table == "bicycle")
      let text = sqlError {
        try db.execute("INSERT INTO main.bicycle (name) VALUES ('a') ON CONFLICT (\"name\") DO NOTHING")
      }
      #expect(text?.message.hasPrefix("table bicycle has no unique index for ON CONFLICT (name); ") == true)
      try db.execute("CREATE UNIQUE INDEX i ON bicycle (name, color)")
      try upsert.run(db)
    }
  }
}
