import SqlableCore
import SqlableSchema

/// The layout of a table's records in its b-tree: the column of each value, and the values that each column allows.
struct TableShape {
  struct Column {
    let name: String
    let affinity: Affinity
    var isNotNull: Bool
    /// True if the column is an alias of the rowid. The record stores NULL for this column.
    var isRowid = false
    let isGenerated: Bool
    /// The type of a column in a STRICT table; nil if the column allows any type.
    let strict: Affinity?
  }

  enum Affinity {
    case text, integer, real, numeric, blob

    init(_ type: String) {
      let type = String(decoding: type.foldedName, as: UTF8.self)
      if type.contains("int") {
        self = .integer
      } else if ["char", "clob", "text"].contains(where: type.contains) {
        self = .text
      } else if type.isEmpty || type.contains("blob") {
        self = .blob
      } else {
        self = ["real", "floa", "doub"].contains(where: type.contains) ? .real : .numeric
      }
    }
  }

  let table: DatabaseSchema.Table
  /// The columns in the record's order, without virtual columns; in a WITHOUT ROWID table, key columns first.
  let columns: [Column]
  /// The number of key columns in a WITHOUT ROWID table; 0 if the table has a rowid.
  let keyCount: Int
  var isWithoutRowid: Bool { table.isWithoutRowid }

  init(_ table: DatabaseSchema.Table) {
    self.table = table
    var order = table.columns.filter { $0.generated?.isStored != false }
    var keyCount = 0
    if table.isWithoutRowid, let key = table.primaryKey {
      var first: [DatabaseSchema.Column] = []
      for term in key.columns {
        guard let name = term.expression.name, let column = table[column: name],
          !first.contains(where: { $0.name.isSameName(as: name) })
        else { continue }
        first.append(column)
      }
      order = first + order.filter { column in !first.contains { $0.name.isSameName(as: column.name) } }
      keyCount = first.count
    }
    self.keyCount = keyCount
    let rowid = table.keyIsRowid ? table.primaryKey?.columns.first?.expression.name : nil
    columns = order.enumerated().map { [keyCount] position, column in
      let type = column.type.text
      let isRowid = rowid.map(column.name.isSameName(as:)) == true
      return Column(
        name: column.name, affinity: Affinity(type), isNotNull: (column.isNotNull || position < keyCount) && !isRowid,
        isRowid: isRowid, isGenerated: column.generated != nil,
        strict: table.isStrict && !type.isSameName(as: "any") ? Affinity(type) : nil)
    }
  }

  func contradicts(_ record: StoredRecord) -> Bool {
    record.count == 0 || record.count > columns.count
      || zip(record.fields, columns).contains { field, column in column.contradicts(field.storage) }
  }

  /// Returns a score for how well a record matches the table, to select one of several possible tables.
  func likelihood(of record: StoredRecord) -> Int { TableShape.likelihood(of: record, in: columns) }

  /// Returns the score of a record of a table or an index with these columns.
  static func likelihood(of record: StoredRecord, in columns: [Column]) -> Int {
    var points = record.count == columns.count ? 3 : 0
    for (field, column) in zip(record.fields, columns) {
      switch (column.affinity, field.storage) {
      case (_, .null): break
      case (.text, .text), (.integer, .integer), (.real, .real), (.numeric, .integer), (.numeric, .real),
        (.blob, .blob):
        points += 2
      case (.real, .integer), (.blob, _): points += 1
      default: points -= 2
      }
    }
    return points
  }
}

extension TableShape.Column {
  func contradicts(_ storage: StorageClass) -> Bool {
    if isRowid { return storage != .null }
    if storage == .null { return isNotNull }
    // SQLite converts a number to text before it stores the number in a TEXT column.
    if affinity == .text, storage == .integer || storage == .real { return true }
    switch strict {
    case .integer: return storage != .integer
    case .real: return storage != .real && storage != .integer
    case .text: return storage != .text
    case .blob: return storage != .blob
    case .numeric, nil: return false
    }
  }
}
