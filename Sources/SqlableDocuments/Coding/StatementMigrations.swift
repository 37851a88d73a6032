import SqlableCore
import SqlableSchema

extension Migration {
  /// Creates a migration that runs statements in order.
  ///
  /// ```swift
  /// let bicycle = Table("bicycle", "color")
  /// Migration("black", try AnyStatement(bicycle.updateAll(bicycle["color"].set(to: "black"))))
  /// ```
  ///
  /// The checksum is computed from the statements' JSON. Use statements on a `Table`, because the JSON of a model's
  /// statement can change with the model. Throws `.invalidStatement` for a statement that can't be encoded.
  public init(_ name: String, _ statements: AnyStatement...) throws {
    let content = try statements.map { String(decoding: try $0.json(), as: UTF8.self) }.joined(separator: "\n")
    self.init(
      name, kind: "statements", content: content, .whole { db in for work in statements { try work.run(db) } },
      .whole { db in for work in statements { _ = try await work.run(db) } })
  }
}

extension Migrations {
  /// Returns the statements that can't run on the database after the migrations, with the error of each statement. The
  /// statements can be saved statements or the statements of a ``StatementManifest``.
  ///
  /// ```swift
  /// for (name, error) in try migrations.broken(saved, in: db) { print(name, error) }
  /// ```
  ///
  /// The pending migrations run on an in-memory copy of the database's schema, without rows but with the functions of
  /// the handle. Throws the errors of these migrations.
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
