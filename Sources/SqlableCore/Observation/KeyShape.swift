/// The positions of a table's primary key among the values that the pre-update hook reports.
package struct KeyShape {
  /// The conversion that a column applies to the numbers that are stored in it.
  package enum Affinity {
    case none
    /// Numbers become texts.
    case text
    /// Whole numbers become integers.
    case integer
    /// All numbers become reals.
    case real
  }

  /// The declared positions of the key's columns; empty if the rowid is the key, or there is no key.
  package var columns: [Int] = []
  /// The same positions as this SQLite counts them: among the old values, those of a new row, and those after an
  /// update.
  var old: [Int] = []
  var inserted: [Int] = []
  var updated: [Int] = []
  var affinities: [Affinity] = []
  /// The comparison of a key of one column; nil for any other key, and for the rowid.
  package var comparison: KeyComparison?
  package var isWithoutRowid = false
  /// The names, as SQL, that identify a row: those of the key's columns, or a name of the rowid.
  package var names: [String] = []
  /// All columns of the table.
  package var row = RowShape()
}

/// The positions of all columns of a table among the values that the pre-update hook reports.
package struct RowShape {
  /// The position of a value among the old values, those of a new row, and those after an update.
  typealias Positions = (old: Int, inserted: Int, updated: Int)

  struct Column {
    let name: String
    let foldedName: [UInt8]
    /// The positions of the column's value; nil for a column that is not stored.
    var positions: Positions?
    let affinity: KeyShape.Affinity
    /// True if an old NULL may stand for the default, which this SQLite does not report for rows from before the column
    /// was added.
    let mayHideDefault: Bool
  }

  /// In declaration order.
  var columns: [Column] = []

  /// The columns' names.
  package var names: [String] { columns.map(\.name) }
  /// True if SQLite reports the values of all columns.
  var isWhole: Bool { columns.allSatisfy { $0.positions != nil } }
}

extension KeyShape.Affinity {
  /// SQLite's affinity rules, in order.
  package init(ofType type: String) {
    // Folded like SQLite: a dotless ı does not make INT.
    let type = String(decoding: type.foldedName, as: UTF8.self)
    func holds(_ words: String...) -> Bool { words.contains { type.suffix(after: $0) != nil } }
    if holds("int") {
      self = .integer
    } else if holds("char", "clob", "text") {
      self = .text
    } else if holds("blob") || type.isEmpty || type == "any" {
      // In a STRICT table ANY keeps every value as it is.
      self = .none
    } else {
      self = holds("real", "floa", "doub") ? .real : .integer
    }
  }

  /// The value that the column holds, given the one that the pre-update hook reported; nil if it is unknown.
  func value(_ given: DatabaseValue) -> DatabaseValue? {
    switch (self, given) {
    case (.real, .integer(let integer)):
      // SQLite stores 2.0 as the integer 2, and reports the integer for an insert.
      return .real(Double(integer))
    case (.integer, .real(let real)) where real.magnitude < 0x1p63:
      // If a table has no rowid or has columns that are not stored, SQLite converts integers of the wrong column to
      // reals among the old values. From 2 to the power of 53 on that loses digits.
      guard let integer = Int64(exactly: real) else { return given }
      return real.magnitude < 0x1p53 ? .integer(integer) : nil
    default: return given
    }
  }
}

extension Connection {
  /// Returns the positions of a table's primary key.
  ///
  /// The positions come from the key's index, not from the table's declaration. Only the rowid needs no index, and
  /// `INTEGER PRIMARY KEY DESC`, by an old quirk, is not the rowid.
  package func keyShape(ofTable name: String) throws -> KeyShape {
    var shape = KeyShape()
    let index = try rows("PRAGMA main.index_list(\(name.quotedName))").first { $0[3] == "pk" }?[1]
    // A WITHOUT ROWID table is the key's index itself; other indexes end in the rowid of their table, column -1.
    var indexed: [Int] = []
    var collation = "BINARY"
    if let index {
      shape.isWithoutRowid = true
      for row in try rows("PRAGMA main.index_xinfo(\(index.quotedName))") {
        guard let column = Int(row[1]) else { continue }
        if column == -1 {
          shape.isWithoutRowid = false
        } else if row[5] == "1" {
          indexed.append(column)
          collation = row[4]
        }
      }
    }
    let isWithoutRowid = shape.isWithoutRowid
    var storedCount = 0
    for row in try rows("PRAGMA main.table_xinfo(\(name.quotedName))") {
      // 2 is a VIRTUAL generated column.
      let (number, isStored) = (shape.row.columns.count, row[6] != "2")
      let stored = storedCount
      // A column behind nothing but stored ones has the same number in every numbering.
      var passes = PreupdateNumbering.Passes()
      if stored != number { passes = isWithoutRowid ? PreupdateNumbering.withoutRowid : PreupdateNumbering.withRowid }
      shape.row.columns.append(
        RowShape.Column(
          name: row[1], foldedName: row[1].foldedName,
          positions: isStored
            ? (
              old: passes.old ? stored : number, inserted: passes.inserted ? stored : number,
              updated: passes.updated ? stored : number
            ) : nil, affinity: KeyShape.Affinity(ofType: row[2]),
          mayHideDefault: !row[4].isEmpty && !row[4].isSameName(as: "NULL") && !PreupdateNumbering.reportsDefaults))
      if isStored { storedCount += 1 }
    }
    guard index != nil else {
      // A column of that name hides the rowid.
      shape.names = String.rowidName(avoiding: shape.row.names).map { [$0] } ?? []
      return shape
    }
    shape.columns = indexed.filter { shape.row.columns.indices.contains($0) }
    shape.old = shape.columns.map { shape.row.columns[$0].positions?.old ?? $0 }
    shape.inserted = shape.columns.map { shape.row.columns[$0].positions?.inserted ?? $0 }
    shape.updated = shape.columns.map { shape.row.columns[$0].positions?.updated ?? $0 }
    shape.affinities = shape.columns.map { shape.row.columns[$0].affinity }
    shape.names = shape.columns.map { shape.row.columns[$0].name.quotedName }
    if shape.affinities.count == 1 {
      shape.comparison = KeyComparison(affinity: shape.affinities[0], collation: self.collation(collation))
    }
    return shape
  }
}
