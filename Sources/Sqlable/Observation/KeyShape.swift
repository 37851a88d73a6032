/// Where a table's primary key is found among the values that the pre-update hook tells.
struct KeyShape {
  /// What becomes of a number that is stored in a column.
  enum Affinity {
    case none
    /// Numbers become texts.
    case text
    /// Whole numbers become integers.
    case integer
    /// All numbers are reals.
    case real
  }

  /// The positions of the key's columns as they are declared; none where the rowid is the key, or where there is no
  /// key.
  var columns: [Int] = []
  /// The same among the values before a change, of a new row and after an update, as this SQLite counts them.
  var old: [Int] = []
  var inserted: [Int] = []
  var updated: [Int] = []
  var affinities: [Affinity] = []
  /// How a key of one column compares.
  var comparison: KeyComparison?
  var isWithoutRowid = false
  /// The names, as SQL spells them, by which a row is found: those of the key's columns, or one of the rowid's own.
  var names: [String] = []
  /// All columns of the table.
  var row = RowShape()
}

/// Where all columns of a table are found among the values that the pre-update hook tells.
struct RowShape {
  /// Where a value is before a change, of a new row and after an update.
  typealias Places = (old: Int, inserted: Int, updated: Int)

  struct Column {
    let name: String
    let foldedName: [UInt8]
    /// Where its value is before a change, of a new row and after an update; nil for a column that is not stored.
    var places: Places?
    let affinity: KeyShape.Affinity
    /// Whether NULL before a change may be a default that this SQLite does not tell, of a row from before the column
    /// was added.
    let mayHideDefault: Bool
  }

  /// In the order in which they are declared.
  var columns: [Column] = []

  /// The columns' names.
  var names: [String] { columns.map(\.name) }
  /// Whether SQLite tells the values of all.
  var isWhole: Bool { columns.allSatisfy { $0.places != nil } }
}

extension KeyShape.Affinity {
  /// SQLite's rules of affinity, in their order.
  init(ofType type: String) {
    // As SQLite folds letters: a ı without its dot makes no INT.
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

  /// The value that the column holds, of the one that the pre-update hook gave for it; nil when that can't be told.
  func value(_ given: DatabaseValue) -> DatabaseValue? {
    switch (self, given) {
    case (.real, .integer(let integer)):
      // SQLite keeps 2.0 as the integer 2, and tells it so when it is inserted.
      return .real(Double(integer))
    case (.integer, .real(let real)) where real.magnitude < 0x1p63:
      // Before a change SQLite makes reals of integers in the wrong column, where a table has no rowid or has columns
      // that are not stored. From 2 to the power of 53 on that has lost digits.
      guard let integer = Int64(exactly: real) else { return given }
      return real.magnitude < 0x1p53 ? .integer(integer) : nil
    default: return given
    }
  }
}

extension Connection {
  /// Where the primary key of a table is.
  ///
  /// The index of the key is asked, not the table's declaration: only the rowid needs no index, and `INTEGER PRIMARY
  /// KEY DESC`, by an old quirk, is not the rowid.
  func keyShape(ofTable name: String) throws -> KeyShape {
    var shape = KeyShape()
    var index: String?
    try eachRow("PRAGMA main.index_list(\(name.quotedName))") { row in
      if row[3] == "pk" { index = row[1] }
    }
    // A table of the key's own index is one without rowid; an index ends in the rowid of its table, column -1.
    var indexed: [Int] = []
    var collation = "BINARY"
    if let index {
      shape.isWithoutRowid = true
      try eachRow("PRAGMA main.index_xinfo(\(index.quotedName))") { row in
        guard let column = Int(row[1]) else { return }
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
    try eachRow("PRAGMA main.table_xinfo(\(name.quotedName))") { row in
      // 2 is a generated column that is computed when it is read.
      let (number, isStored) = (shape.row.columns.count, row[6] != "2")
      let stored = storedCount
      // A column behind stored ones only has one number.
      var passes = PreupdateNumbering.Passes()
      if stored != number { passes = isWithoutRowid ? PreupdateNumbering.withoutRowid : PreupdateNumbering.withRowid }
      shape.row.columns.append(
        RowShape.Column(
          name: row[1], foldedName: row[1].foldedName,
          places: isStored
            ? (
              old: passes.old ? stored : number, inserted: passes.inserted ? stored : number,
              updated: passes.updated ? stored : number
            ) : nil, affinity: KeyShape.Affinity(ofType: row[2]),
          mayHideDefault: !row[4].isEmpty && !row[4].isSameName(as: "NULL") && !PreupdateNumbering.tellsDefaults))
      if isStored { storedCount += 1 }
    }
    guard index != nil else {
      // A column of that name hides the rowid.
      shape.names = String.rowidName(beside: shape.row.names).map { [$0] } ?? []
      return shape
    }
    shape.columns = indexed.filter { shape.row.columns.indices.contains($0) }
    shape.old = shape.columns.map { shape.row.columns[$0].places?.old ?? $0 }
    shape.inserted = shape.columns.map { shape.row.columns[$0].places?.inserted ?? $0 }
    shape.updated = shape.columns.map { shape.row.columns[$0].places?.updated ?? $0 }
    shape.affinities = shape.columns.map { shape.row.columns[$0].affinity }
    shape.names = shape.columns.map { shape.row.columns[$0].name.quotedName }
    if shape.affinities.count == 1 {
      shape.comparison = KeyComparison(affinity: shape.affinities[0], collation: self.collation(collation))
    }
    return shape
  }
}
