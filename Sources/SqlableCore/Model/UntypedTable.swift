/// The known structure of a table without a model.
package struct UntypedTable: Sendable {
  let name: String
  var database: String? = nil
  let columns: [UntypedColumn]
  var isWithoutRowid = false

  package init(name: String, database: String? = nil, columns: [UntypedColumn], isWithoutRowid: Bool = false) {
    (self.name, self.database, self.columns, self.isWithoutRowid) = (name, database, columns, isWithoutRowid)
  }

  var key: [Int] {
    columns.indices.filter { columns[$0].keyPosition > 0 }.sorted { columns[$0].keyPosition < columns[$1].keyPosition }
  }

  /// The columns in the form in which a model declares columns. Two columns are equal if their names and table names
  /// are equal.
  var declarations: [Column] {
    columns.map { column in
      Column(
        column.name, .any, options: column.isGenerated ? [Generated("")] : [], file: #fileID,
        line: UntypedTable.line(of: [name, column.name]))
    }
  }

  func named(_ name: String, in database: String?) -> UntypedTable {
    UntypedTable(name: name, database: database, columns: columns, isWithoutRowid: isWithoutRowid)
  }

  // MARK: Known tables

  /// The maximum number of tables. Tables are never freed, so table names from data would leak memory.
  static let maximumCount = 20_000
  static let maximumColumns = 200_000

  private struct Known {
    var tables: [UntypedTable: TableInfo] = [:]
    var columns = 0
    /// A number for each pair of a table's name and a column's name. A column's declaration uses the number as its
    /// source line.
    var lines: [[[UInt8]]: UInt] = [:]
  }

  private static let known = LockedValue(Known())

  /// The information on the table, which equal tables share. If the program has too many untyped tables, or too many
  /// columns in untyped tables, the result is the placeholder `.excessive`.
  var info: TableInfo {
    if let info = UntypedTable.known.withLock({ $0.tables[self] }) { return info }
    let info = TableInfo(self)
    return UntypedTable.known.withLock { known in
      if let first = known.tables[self] { return first }
      guard known.tables.count < UntypedTable.maximumCount,
        known.columns + columns.count <= UntypedTable.maximumColumns
      else { return .excessive }
      known.tables[self] = info
      known.columns += columns.count
      for column in info.columns { column.definition.keep() }
      return info
    }
  }

  private static func line(of names: [String]) -> UInt {
    known.withLock { known in
      let names = names.map { Array($0.utf8) }
      if let line = known.lines[names] { return line }
      let line = UInt(known.lines.count)
      if known.lines.count < maximumColumns { known.lines[names] = line }
      return line
    }
  }
}

package struct UntypedColumn: Sendable {
  let name: String
  /// The column's position in the primary key, from 1; 0 for a column outside the key.
  package var keyPosition = 0
  /// True if the column is the only column of the key and is the rowid.
  package var isRowid = false
  var isGenerated = false

  package init(name: String, keyPosition: Int = 0, isRowid: Bool = false, isGenerated: Bool = false) {
    (self.name, self.keyPosition, self.isRowid, self.isGenerated) = (name, keyPosition, isRowid, isGenerated)
  }
}

extension UntypedTable: Hashable {
  package static func == (left: UntypedTable, right: UntypedTable) -> Bool {
    left.name.isExactly(right.name) && left.database.isExactly(right.database)
      && left.isWithoutRowid == right.isWithoutRowid && left.columns == right.columns
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(columns)
  }
}

extension UntypedColumn: Hashable {
  package static func == (left: UntypedColumn, right: UntypedColumn) -> Bool {
    left.name.isExactly(right.name) && left.keyPosition == right.keyPosition && left.isRowid == right.isRowid
      && left.isGenerated == right.isGenerated
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
