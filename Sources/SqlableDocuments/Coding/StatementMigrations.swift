import SqlableCore
import SqlableSchema

extension Migration {
  /// A migration of statements, in their order.
  ///
  /// ```swift
  /// Migration("black", try AnyStatement(Bicycle.updateAll(Bicycle.color.set(to: "black"))))
  /// ```
  ///
  /// Its checksum is that of their data. Throws `.encoding` for a statement that has no form as data.
  public init(_ name: String, _ statements: AnyStatement...) throws {
    let content = try statements.map { String(decoding: try $0.json(), as: UTF8.self) }.joined(separator: "\n")
    self.init(
      name, kind: "statements", content: content, .whole { db in for work in statements { try work.run(db) } },
      .whole { db in for work in statements { _ = try await work.run(db) } })
  }
}

extension Migrations {
  /// Returns the statements that can't run on the database once the migrations have run, with the error of each: saved
  /// statements, or those of a ``StatementManifest``.
  ///
  /// ```swift
  /// for (name, error) in try migrations.broken(saved, in: db) { print(name, error) }
  /// ```
  ///
  /// The migrations that the database has not run are run on a copy of its schema in memory, without rows, with the
  /// functions of the handle. Throws what a migration throws there.
  public func broken(_ statements: [String: AnyStatement], in db: SqliteDatabase) throws -> [String: SqlError] {
    let copy = try migratedScratch(of: db)
    return statements.compactMapValues { statement in
      do {
        _ = try statement.explain(copy)
        return nil
      } catch { return error as? SqlError ?? .invalidStatement("the statement can't be explained") }
    }
  }
}
