import FoundationEssentials

/// The stored values of a row by column name. A column that the struct left out has no entry.
@usableFromInline
package struct StoredRow: Sendable, Hashable {
  package private(set) var values: [ByteComparedName: DatabaseValue] = [:]

  package init() {}

  init(_ values: [String: DatabaseValue]) {
    for (name, value) in values { self[name] = value }
  }

  package subscript(name: String) -> DatabaseValue? {
    get { values[ByteComparedName(wrappedValue: name)] }
    set { values[ByteComparedName(wrappedValue: name)] = newValue }
  }

  /// Returns the values by column name, for encoding. Throws if two different column names are equal for Swift's `==`.
  package func byName() throws -> [String: DatabaseValue] {
    var named: [String: DatabaseValue] = [:]
    for (name, value) in values {
      guard let name = name.wrappedValue, named.updateValue(value, forKey: name) == nil else {
        throw SqlError.invalidStatement(
          "can't encode a row with two columns whose names differ only in Unicode normalization")
      }
    }
    return named
  }
}

/// The rows of a statement: decoded values, or structs whose values are read when the statement runs.
@usableFromInline
package enum StatementRows<Model: Sqlable>: Sendable {
  case none
  case model(Model)
  case models([Model])
  case stored([StoredRow])
}

extension StatementRows {
  @inlinable
  package var count: Int {
    switch self {
    case .none: 0
    case .model: 1
    case .models(let models): models.count
    case .stored(let rows): rows.count
    }
  }

  /// Writes a row's values to `writer`. Returns false if the index is outside the rows.
  @inlinable
  func take(_ index: Int, into writer: inout RowWriter) throws -> Bool {
    switch self {
    case .model(let model) where index == 0: try writer.take(model)
    case .models(let models) where models.indices.contains(index): try writer.take(models[index])
    case .stored(let rows) where rows.indices.contains(index): try writer.take(rows[index])
    default: return false
    }
    return true
  }
}

extension Statement {
  package func storedRows() throws -> [StoredRow] {
    switch rows {
    case .none: return []
    case .stored(let rows): return rows
    case .model(let model): return try StoredRow.rows(of: [model], in: try tree.table, written: tree.writtenColumns)
    case .models(let models): return try StoredRow.rows(of: models, in: try tree.table, written: tree.writtenColumns)
    }
  }
}

extension StoredRow {
  /// Returns the values that structs write, for the columns that the statement uses.
  package static func rows<Model: Sqlable>(
    of models: [Model], in table: TableInfo, written: WrittenColumns = .all
  ) throws -> [StoredRow] {
    let buffer = ParameterBuffer()
    var writer = RowWriter(table: table, buffer: buffer, written: written)
    return try models.map { model in
      // Each row gets its own scope in the buffer, so that a copy of an earlier row's writer can't change a later row.
      let mark = buffer.mark
      defer { buffer.release(to: mark) }
      try writer.take(model)
      var row = StoredRow()
      for position in writer.values.indices {
        if let value = DatabaseValue(writer.values[position]) { row[table.columns[position].name] = value }
      }
      return row
    }
  }
}

extension RowWriter {
  @usableFromInline
  package mutating func take(_ row: StoredRow) throws {
    clear()
    for (key, value) in row.values {
      let name = key.wrappedValue ?? ""
      let position = try position(named: name)
      guard !table.cells[position].isGenerated else {
        throw SqlError.invalidStatement("column \(name) is generated and can't be set").at(
          table: table.name, column: name)
      }
      let parameter = bytes.pointee.parameter(for: try value.checked())
      guard table.columns[position].type.stores(parameter) else {
        throw table.columns[position].type.mismatch(parameter.storageClass).at(table: table.name, column: name)
      }
      put(parameter, at: position)
    }
  }
}

/// Two statements are equal when they have the same structure and the same values.
extension Statement: Hashable {
  public static func == (left: Statement, right: Statement) -> Bool {
    left.tree == right.tree && left.comparableRows == right.comparableRows
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(tree)
    hasher.combine(comparableRows)
  }

  /// The stored rows, or the error if a struct can't be stored. Statements with the same error are equal.
  private var comparableRows: Result<[StoredRow], SqlError> {
    Result { try storedRows() }.mapError { $0 as? SqlError ?? .misuse("SQLite can't store a value of the rows") }
  }
}
