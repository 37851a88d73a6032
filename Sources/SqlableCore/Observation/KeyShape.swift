/// The positions of a table's primary key among the values that the pre-update hook reports.
package struct KeyShape {
  /// The conversion that a column applies to stored numbers.
  package enum Affinity {
    case none
    /// Numbers become texts.
    case text
    /// Whole numbers become integers.
    case integer
    /// All numbers become reals.
    case real
  }

  /// The declared positions of the key's columns; empty if the key is the rowid or no key exists.
  package var columns: [Int] = []
  /// The positions of the key's columns among the old values of a row.
  var old: [Int] = []
  /// The positions of the key's columns among the values of an inserted row.
  var inserted: [Int] = []
  /// The positions of the key's columns among the new values of an updated row.
  var updated: [Int] = []
  var affinities: [Affinity] = []
  /// The rules by which SQLite compares the values of a one-column key; nil for any other key, and for the rowid.
  package var comparison: KeyComparison?
  package var isWithoutRowid = false
  /// The names that identify a row, as SQL: the names of the key's columns, or a name of the rowid.
  package var names: [String] = []
  package var row = RowShape()
}

/// The positions of all columns of a table among the values that the pre-update hook reports.
package struct RowShape {
  /// The positions of a column's value among the old values, an inserted row's values, and an update's new values.
  typealias Positions = (old: Int, inserted: Int, updated: Int)

  struct Column {
    let name: String
    let foldedName: [UInt8]
    /// The positions of the column's value; nil for a column that is not stored.
    var positions: Positions?
    let affinity: KeyShape.Affinity
    /// True if the hook might report NULL as an old value instead of the column's default. SQLite 3.40 does this for a
    /// row that was inserted before the column was added.
    let mayHideDefault: Bool
  }

  var columns: [Column] = []

  package var names: [String] { columns.map(\.name) }
  /// True if SQLite reports the values of all columns.
  var isWhole: Bool { columns.allSatisfy { $0.positions != nil } }
}

extension KeyShape.Affinity {
  /// Derives the affinity from words in the declared type, by SQLite's rules.
  package init(ofType type: String) {
    // Fold only the letters A to Z, like SQLite, so that a dotless ı does not match INT.
    let type = String(decoding: type.foldedName, as: UTF8.self)
    func holds(_ words: String...) -> Bool { words.contains { type.suffix(after: $0) != nil } }
    if holds("int") {
      self = .integer
    } else if holds("char", "clob", "text") {
      self = .text
    } else if holds("blob") || type.isEmpty || type == "any" {
      // In a STRICT table, ANY stores every value unchanged.
      self = .none
    } else {
      self = holds("real", "floa", "doub") ? .real : .integer
    }
  }

  /// Converts a value that the pre-update hook reported into the value that the table stores; nil if the stored value
  /// is unknown.
  func value(_ given: DatabaseValue) -> DatabaseValue? {
    switch (self, given) {
    case (.real, .integer(let integer)):
      // In a REAL column, SQLite stores 2.0 as the integer 2. For an insert, the hook reports this integer.
      return .real(Double(integer))
    case (.integer, .real(let real)) where real.magnitude < 0x1p63:
      // In a table without rowid, or with virtual generated columns, SQLite applies the wrong column's affinity to old
      // values. The wrong affinity can convert integers to reals. From 2^53 on, this conversion loses digits.
      guard let integer = Int64(exactly: real) else { return given }
      return real.magnitude < 0x1p53 ? .integer(integer) : nil
    default: return given
    }
  }
}

extension Connection {
  /// Returns the positions of a table's primary key.
  ///
  /// The positions come from the key's index, not from the table's declaration: every key except the rowid has an
  /// index. Because of an old quirk, `INTEGER PRIMARY KEY DESC` is not the rowid, and has an index.
  package func keyShape(ofTable name: String) throws -> KeyShape {
    var shape = KeyShape()
    let index = try rows("PRAGMA main.index_list(\(name.quotedName))").first { $0[3] == "pk" }?[1]
    // A WITHOUT ROWID table is itself the key's index. In other tables, the index ends with the rowid, column -1.
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
      // Some versions of SQLite skip VIRTUAL columns in the pre-update hook. The columns after a VIRTUAL column then
      // have lower numbers.
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
      // A column named `rowid` hides the rowid.
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
