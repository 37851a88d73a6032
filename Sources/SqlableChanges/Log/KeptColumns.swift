import SqlableCore

/// The columns of one table whose values the log keeps. The log always keeps the key.
enum KeptColumns: Sendable, Hashable {
  case rows
  case keys
  /// The columns with these names. Names that are not columns of the table are ignored.
  case columns([String])

  /// The text in the column `kept` of ``ChangeTables/tables``.
  var text: String {
    switch self {
    case .rows: "rows"
    case .keys: "keys"
    case .columns: "columns"
    }
  }

  /// - Parameters:
  ///   - columns: The names of the kept columns.
  ///   - key: The names of the key columns. `.columns` leaves them out, because the log always keeps the key, and a
  ///     later key can have other columns.
  init?(text: String, columns: [String], key: [String]) {
    switch text {
    case "rows": self = .rows
    case "keys": self = .keys
    case "columns": self = .columns(columns.filter { name in !key.contains(where: name.isSameName) })
    default: return nil
    }
  }
}

extension ChangeLog {
  /// Throws `.misuse` for a chosen column of another model.
  func checkColumns() throws {
    guard case .columns(let chosen) = values.storage else { return }
    // The declared tables omit a rowid that a model declares as a column. Accept such a column: it is the key, which
    // the log always keeps.
    let unknown = chosen.filter { column in
      !column.definition.options.isRowId && !tables.contains { $0.position(of: column.definition) != nil }
    }
    guard let column = unknown.map(\.name).min() else { return }
    throw SqlError.misuse("a change log can't keep column \(column): the column is in none of the log's models")
      .at(table: nil, column: column)
  }

  /// Returns the columns of a table that this log keeps. Throws `.schema(.missingColumn)` for a chosen column that the
  /// table does not have.
  func keptColumns(of table: LoggedTable) throws -> KeptColumns {
    switch values.storage {
    case .rows: return .rows
    case .keys: return .keys
    case .columns(let chosen):
      // Two models can have the same table.
      let models = tables.filter { $0.name.isSameName(as: table.name) }
      let names = chosen.filter { column in models.contains { $0.position(of: column.definition) != nil } }.map(\.name)
      guard !names.isEmpty else {
        throw SqlError.misuse(
          "a change log of chosen columns needs at least one column of table \(table.name); "
            + "keeping: .keys keeps only the key"
        ).at(table: table.name)
      }
      let missing = names.filter { name in !table.columns.contains { $0.name.isSameName(as: name) } }
      guard let column = missing.min() else { return .columns(names) }
      throw SqlError(
        .schema(.missingColumn(column)),
        message: "table \(table.name) has no column \(column); create the column before the change log that keeps it"
      ).at(table: table.name, column: column)
    }
  }
}
