// The checks that run before a backup is renamed to its target, or before a restore replaces anything.

import SqlableCore
import SqlableSchema

extension BackupSource {
  /// Runs the checks that the options select. Throws `.corrupt` with the damage, `.constraint(.foreignKey)` with the
  /// tables whose rows reference missing rows, and `.schema(.mismatch)` for tables that differ from the models.
  package func check(_ options: BackupOptions, _ what: String) throws {
    do {
      try db.locked {
        let connection = try db.openConnection()
        if options.checks.contains(.integrity) { try checkIntegrity(connection) }
        if options.checks.contains(.foreignKeys) { try checkForeignKeys(connection) }
      }
      if let schema = options.schema {
        guard name == "main" else { throw SqlError.misuse("only the main database can be compared with a schema") }
        try schema.verify(db)
      }
    } catch var error as SqlError {
      error.message = "\(what): \(error.message)"
      error.transaction = .none
      throw error
    }
  }

  private static let maximumShown = 10

  private func checkIntegrity(_ connection: Connection) throws {
    try connection.checkPages("PRAGMA \("integrity_check".quotedName(inDatabase: name))(\(BackupSource.maximumShown))")
  }

  private func checkForeignKeys(_ connection: Connection) throws {
    var (tables, counts) = ([String](), [String: Int]())
    let pragma = "foreign_key_check".quotedName(inDatabase: name)
    try connection.eachRow("PRAGMA \(pragma)") { row in
      guard row.count > 2 else { return }
      let reference = "\(row[0]) reference missing rows of \(row[2])"
      if counts[reference] == nil { tables.append(reference) }
      counts[reference, default: 0] += 1
    }
    guard !tables.isEmpty else { return }
    let message = tables.prefix(BackupSource.maximumShown).map { "\(counts[$0] ?? 0) rows of \($0)" }
    throw SqlError(
      .constraint(.foreignKey), message: message.joined(separator: "; "), label: connection.label)
  }
}

extension Connection {
  /// Runs an integrity check. Throws `.corrupt` with the problems. If all problems are rows with NULL in a NOT NULL
  /// column, throws `.constraint(.notNull)` instead, because such a file is not damaged.
  ///
  /// A read-only connection ignores CHECK constraints, so the check of a copy accepts rows that violate a CHECK.
  func checkPages(_ pragma: String) throws {
    let problems = try rows(pragma).map { $0.first ?? "" }
    guard problems != ["ok"] else { return }
    let kind = problems.allSatisfy { $0.begins(with: "NULL value in ") } ? SqlError.Kind.constraint(.notNull) : .corrupt
    throw SqlError(kind, message: "the integrity check failed: " + problems.joined(separator: "; "), label: label)
  }
}
