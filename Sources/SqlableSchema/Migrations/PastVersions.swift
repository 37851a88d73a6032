import SqlableCore

extension Migrations {
  /// Runs the migrations on a database of every past version, and throws unless all of them end with the same schema.
  /// For a test of the program; it works on databases in memory.
  ///
  /// ```swift
  /// try migrations.checkPastVersions { db, name in
  ///   if name == "bicycles" { try db.execute("INSERT INTO bicycle (name, colour) VALUES ('Racer', 'red')") }
  /// } checking: { db, name in
  ///   if name == "bicycles" { #expect(try Bicycle.read().run(db).map(\.color) == ["red"]) }
  /// }
  /// ```
  ///
  /// The first version is that after the first migration; the last is that of today. Each is made by the migrations up
  /// to it. `filling` puts rows into it; then the rest of the migrations run, and `checking` looks at what became of
  /// the rows. Throws `.schema(.mismatch)` for another schema, rows that refer to rows that are not there, and a
  /// damaged database, with the name of the version's last migration; and what the migrations and closures throw.
  public func checkPastVersions(
    configuration: Configuration = Configuration(), filling: (SqliteDatabase, String) throws -> Void,
    checking: (SqliteDatabase, String) throws -> Void = { _, _ in }
  ) throws {
    let today = try today(configuration)
    for count in all.indices.map({ $0 + 1 }) {
      let name = all[count - 1].name
      let db = try SqliteDatabase.inMemory(configuration: configuration)
      defer { try? db.close() }
      try Migrations(Array(all.prefix(count))).apply(db)
      try filling(db, name)
      try check(db, name, against: today)
      try checking(db, name)
    }
  }

  /// Runs the migrations on databases of past releases, and throws unless all of them end with the schema of today.
  ///
  /// ```swift
  /// let release3 = try String(contentsOfFile: "Fixtures/release-3.sql", encoding: .utf8)
  /// try migrations.checkPastVersions(dumps: ["release 3": release3]) { db, name in
  ///   #expect(try Bicycle.count().run(db) == 12)
  /// }
  /// ```
  ///
  /// ``SqliteDatabase/dump()`` makes the dumps; their names are any. `checking` looks at a database to which the
  /// migrations have been applied.
  public func checkPastVersions(
    dumps: [String: String], configuration: Configuration = Configuration(),
    checking: (SqliteDatabase, String) throws -> Void = { _, _ in }
  ) throws {
    let today = try today(configuration)
    for (name, dump) in dumps.sorted(by: { $0.key < $1.key }) {
      let db = try SqliteDatabase.inMemory(configuration: configuration)
      defer { try? db.close() }
      try db.load(dump)
      try check(db, name, against: today)
      try checking(db, name)
    }
  }

  /// The schema of a new file.
  private func today(_ configuration: Configuration) throws -> DatabaseSchema {
    let db = try SqliteDatabase.inMemory(configuration: configuration)
    defer { try? db.close() }
    try Migrations(all).apply(db)
    return try db.schema()
  }

  private func check(_ db: SqliteDatabase, _ name: String, against today: DatabaseSchema) throws {
    try Migrations(all).apply(db)
    var problems = try db.schema().differences(from: today).map(\.description)
    problems += try db.query("PRAGMA foreign_key_check", as: DynamicRow.self).prefix(10).map { row in
      let (child, parent) = (try row.get(0, as: String.self), try row.get(2, as: String.self))
      return "a row of \(child) references a missing row of \(parent)"
    }
    problems += try db.query("PRAGMA integrity_check", as: String.self).filter { $0 != "ok" }
    guard problems.isEmpty else {
      throw Migrations.mismatch(
        "a database that was migrated from version \(name) differs from a new database: "
          + problems.joined(separator: "; "))
    }
  }
}
