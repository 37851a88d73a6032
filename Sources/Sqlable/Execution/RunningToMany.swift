import FoundationEssentials

extension ToMany {
  /// Reads the rows, each with those that refer to it.
  ///
  /// A row whose key is NULL, or that nothing refers to, comes with none. Throws what reading throws, and `.misuse`
  /// when the foreign key refers to another table or column, or is declared as none and `of` does not say what it
  /// refers to; when it is of another class than the key, or has a collation of one's own.
  public func run(_ db: SqliteDatabase) throws -> [(Parent, repeat [each Child])] {
    // Outside a transaction the statements would see what others commit between them.
    try db.transaction(.deferred) { db in
      var parents: [Parent] = []
      var keys: [[SqlStorage]] = []
      let table = try self.parents.query.table(of: Parent.self)
      var positions: [Int] = []
      for child in repeat each children {
        let position = try child.position(ofKeyIn: table, of: TableInfo.of(Parent.self))
        try child.check(refersTo: table.columns[position])
        positions.append(position)
      }
      try self.parents.eachRow(db) { row in
        keys.append(try positions.map { try row.storage(at: $0) })
        parents.append(try Parent(row: row))
      }
      var index = 0
      func groups<Some>(_ children: Children<Some>) throws -> Groups<Some> {
        defer { index += 1 }
        return try children.grouped(by: keys.map { $0[index] }, db)
      }
      let found = (repeat try groups(each children))
      return parents.indices.map { row in
        var index = 0
        func own<Some>(_ groups: Groups<Some>) -> [Some] {
          defer { index += 1 }
          return groups.children(of: keys[row][index])
        }
        return (parents[row], repeat own(each found))
      }
    }
  }
}

extension Children {
  /// The position of the column that the foreign key refers to. Throws when it is a reference to another table or
  /// column, or may be none: rows that it puts together would belong together by chance.
  fileprivate func position(ofKeyIn parents: TableInfo, of model: TableInfo) throws -> Int {
    let table = try statement.query.table(of: Child.self)
    let column = table.columns[try table.position(ofColumn: foreignKey)]
    let wanted = try key.map(parents.position(ofColumn:))
    let references = table.references(of: column)
    guard !references.isEmpty else {
      if let wanted { return wanted }
      throw SqlError.misuse(
        "column \(column.name) is declared as no ForeignKey: the argument `of` has to say what it refers to"
      ).at(table: table.name, column: column.name)
    }
    for reference in references {
      let name = reference.table()
      guard name.isSameName(as: model.name) || name.isSameName(as: parents.name) else { continue }
      let names = try reference.columns() ?? reference.primaryKey()
      guard names.count == 1, let position = parents.columns.firstIndex(where: { $0.name.isSameName(as: names[0]) })
      else { continue }
      if wanted == nil || wanted == position { return position }
    }
    throw SqlError.misuse(
      "column \(column.name) is no reference to \(parents.name)"
        + (wanted.map { ".\(parents.columns[$0].name)" } ?? "")
    ).at(table: table.name, column: column.name)
  }

  /// Throws when the foreign key is of another class than what it refers to: as keys of groups, '1' and 1 are two.
  fileprivate func check(refersTo key: Column) throws {
    let table = try statement.query.table(of: Child.self)
    let column = table.columns[try table.position(ofColumn: foreignKey)]
    let classes = [column, key].map { $0.type.storageClass == .real ? .integer : $0.type.storageClass }
    // What is declared without a class holds any.
    guard classes[0] != classes[1], !classes.contains(.blob) else { return }
    throw SqlError.misuse(
      "rows can't be grouped by a foreign key of \(column.type.name) that refers to \(key.type.name)"
    ).at(table: table.name, column: column.name)
  }

  /// The children of the parents with these keys.
  fileprivate func grouped(by keys: [SqlStorage], _ db: SqliteDatabase) throws -> Groups<Child> {
    let table = try statement.query.table(of: Child.self)
    guard !statement.query.isLimited else {
      throw SqlError.invalidStatement("a limit would count the rows of all parents together").at(table: table.name)
    }
    let position = try table.position(ofColumn: foreignKey)
    var groups = Groups<Child>(collation: try collation())
    let wanted = Set(keys.filter { $0 != .null })
    guard !wanted.isEmpty else { return groups }
    try statement.filter(SqlExpression(.isIn(SqlExpression(.column(foreignKey)), Array(wanted)))).eachRow(db) { row in
      groups.add(try Child(row: row), of: try row.storage(at: position))
    }
    return groups
  }

  /// The collation by which SQLite compares the foreign key.
  fileprivate func collation() throws -> Collate {
    let table = try statement.query.table(of: Child.self)
    let column = table.columns[try table.position(ofColumn: foreignKey)]
    guard let collation = column.definition.options.collation else { return .binary }
    guard case .named(let name) = collation else { return collation }
    throw SqlError.misuse("rows can't be grouped by the collation \(name) of a foreign key").at(
      table: table.name, column: column.name)
  }
}

/// Rows by what they refer to.
private struct Groups<Child> {
  /// How SQLite compares the keys.
  let collation: Collate
  private var children: [GroupKey: [Child]] = [:]

  init(collation: Collate) { self.collation = collation }

  mutating func add(_ child: Child, of key: SqlStorage) {
    children[GroupKey(key, collation), default: []].append(child)
  }

  func children(of key: SqlStorage) -> [Child] { children[GroupKey(key, collation)] ?? [] }
}

/// A key by which rows are grouped: equal when SQLite takes them for equal, which Swift's texts are not.
private enum GroupKey: Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob(Data)

  init(_ value: SqlStorage, _ collation: Collate) {
    switch value {
    case .null: self = .null
    case .integer(let integer): self = .integer(integer)
    case .real(let real): self = Int64(exactly: real).map(GroupKey.integer) ?? .real(real)
    case .blob(let data): self = .blob(data)
    case .text(let text):
      var bytes = Array(text.utf8)
      switch collation {
      case .binary, .named: break
      case .nocase: bytes = bytes.map(\.foldedLetter)
      case .rtrim: while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
      }
      self = .text(bytes)
    }
  }
}

extension TableInfo {
  fileprivate func position(ofColumn column: ColumnReference) throws -> Int {
    guard let position = position(of: column) else { throw Scope(self).missing(column) }
    return position
  }

  /// What a column by itself is declared to refer to.
  fileprivate func references(of column: Column) -> [ForeignKeyReference] {
    let own = column.definition.options.foreignKey.map { [$0] } ?? []
    return own
      + constraints.foreignKeys.filter { $0.columns.count == 1 && $0.columns[0].isExactly(column.name) }
      .map(\.reference)
  }
}

extension Statement where Output == [Model] {
  /// Calls `body` with each row.
  fileprivate func eachRow(_ db: SqliteDatabase, _ body: (ReadRow) throws -> Void) throws {
    let reading = try db.beginReading(query, of: query.table(of: Model.self))
    defer { db.endReading(reading) }
    while try reading.step() { try body(reading.row) }
  }
}
