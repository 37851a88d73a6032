// The checks before a backup is renamed to its target, or before a restore replaces anything.

import SqlableCore
import SqlableSchema

extension BackupSource {
  /// Runs the checks that the options select. Throws `.corrupt` with the damage, `.constraint(.foreignKey)` with the
  /// tables whose rows reference missing rows, and `.schema(.mismatch)`.
  ///
  /// - Parameter what: A description of the checked database, for the error.
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
    let pragma = "integrity_check".quotedName(inDatabase: name)
    let problems = try connection.rows("PRAGMA \(pragma)(\(BackupSource.maximumShown))").map { $0.first ?? "" }
    guard problems != ["ok"] else { return }
    throw SqlError(
      .corrupt, message: "the integrity check failed: " + problems.joined(separator: "; "), label: connection.label)
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
