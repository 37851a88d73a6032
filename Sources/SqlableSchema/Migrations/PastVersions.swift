import SqlableCore

extension Migrations {
  /// Runs the migrations on databases of all past versions, and throws unless all end with the same schema.
  ///
  /// ```swift
  /// try migrations.checkPastVersions { db, name in
  ///   if name == "bicycles" { try db.execute("INSERT INTO bicycle (name, colour) VALUES ('Racer', 'red')") }
  /// } checking: { db, name in
  ///   if name == "bicycles" { #expect(try Bicycle.read().run(db).map(\.color) == ["red"]) }
  /// }
  /// ```
  ///
  /// Call this method in a test of the program. The test databases are in memory. The first version is the state after
  /// the first migration, and the last version is the current state. For each version, the method runs the migrations
  /// up to the version and calls `filling` to insert rows. The method then runs the remaining migrations and calls
  /// `checking` to verify the rows.
  ///
  /// Throws `.schema(.mismatch)`, with the name of the version's last migration, if the schema differs, rows reference
  /// missing rows, or the database is damaged. Throws the errors of migrations and closures.
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

  /// Runs the migrations on databases of past releases, and throws unless all end with the current schema.
  ///
  /// ```swift
  /// let release3 = try String(contentsOfFile: "Fixtures/release-3.sql", encoding: .utf8)
  /// try migrations.checkPastVersions(dumps: ["release 3": release3]) { db, name in
  ///   #expect(try Bicycle.count().run(db) == 12)
  /// }
  /// ```
  ///
  /// ``SqliteDatabase/dump()`` creates the dumps; you choose their names. `checking` receives each database after the
  /// migrations have run.
  public func checkPastVersions(
    dumps: [String: String], configuration: Configuration = Configuration(),
    checking: (SqliteDatabase, String) throws -> Void = { _, _ in }
  ) throws {
    let today = try today(configuration)
    for (name, dump) in dumps.ordered(by: { $0.key < $1.key }) {
      let db = try SqliteDatabase.inMemory(configuration: configuration)
      defer { try? db.close() }
      try db.load(dump)
      try check(db, name, against: today)
      try checking(db, name)
    }
  }

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
      let (child, parent) = (try row.get(at: 0, as: String.self), try row.get(at: 2, as: String.self))
      return "a row of \(child) references a missing row of \(parent)"
    }
    problems += try db.query("PRAGMA integrity_check", as: String.self).filter { $0 != "ok" }
    guard problems.isEmpty else {
      throw Migrations.mismatch(
        "the migrations leave problems in a database of version \(name): "
          + problems.joined(separator: "; "))
    }
  }
}
