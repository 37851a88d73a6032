import FoundationEssentials

extension ToMany {
  /// Reads the rows, each with the rows that refer to it.
  ///
  /// A row whose key is NULL, or that no row refers to, has no children. Throws what reading throws. Throws `.misuse`
  /// if the foreign key refers to another table or column; if it is not declared as one and `of` does not say what it
  /// refers to; if its storage class differs from the key's; or if it has a user-defined collation.
  @discardableResult
  public func run(
    _ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [(Parent, repeat [each Child])] {
    let isTraced = try db.beginCall(file, line)
    defer { if isTraced { db.endCall() } }
    // Outside a transaction the statements would see commits that happen between them.
    return try db.transaction(.deferred) { db in
      let found = try FoundParents<Parent>(positions: positions()) { try parents.eachRow(db, $0) }
      return try together(found, ChildrenOfHandle(db: db))
    }
  }

  /// The positions of the parent columns that the children refer to.
  private func positions() throws -> [Int] {
    let table = try parents.tree.table
    var positions: [Int] = []
    for child in repeat each children {
      let position = try child.position(ofKeyIn: table, of: TableInfo.of(Parent.self))
      try child.check(refersTo: table.columns[position])
      positions.append(position)
    }
    return positions
  }

  /// The parents, each with its children.
  private func together(
    _ found: FoundParents<Parent>, _ reader: some ChildReader
  ) throws -> [(Parent, repeat [each Child])] {
    var index = 0
    func groups<Some>(_ children: Children<Some>) throws -> Groups<Some> {
      defer { index += 1 }
      return try children.grouped(by: found.keys(index)) { try reader.read($0, number: index, $1) }
    }
    let groups = (repeat try groups(each children))
    return found.parents.indices.map { row in
      var index = 0
      func own<Some>(_ groups: Groups<Some>) -> [Some] {
        defer { index += 1 }
        return groups.children(of: found.keys[row][index])
      }
      return (found.parents[row], repeat own(each groups))
    }
  }
}

extension ToMany: Runnable {
  /// Runs it, for code that runs any ``Runnable``; its events have the place of that code's call.
  @_disfavoredOverload
  @discardableResult
  @inlinable
  public func run(_ db: SqliteDatabase) throws -> [(Parent, repeat [each Child])] {
    try run(db, file: #fileID, line: #line)
  }

  /// The SQL that reads the parents.
  public var sql: String { parents.sql }

  public var isReadOnly: Bool { true }

  public func requests() throws -> [SqlRequest] { try parents.requests() }

  /// Reads the parents, then their children; a commit between the two shows in the children only.
  public func run(over transport: some SqlTransport) async throws -> [(Parent, repeat [each Child])] {
    let request = try sentRequests()[0]
    let rows = ReceivedRows(answer: try await transport.answer(to: request), sql: request.sql)
    let layout = try parents.layout
    let found = try FoundParents<Parent>(positions: positions()) { try rows.forEach(.positioned(layout), $0) }
    var requests: [SqlRequest] = []
    var numbers: [Int] = []
    var index = 0
    for child in repeat each children {
      if let statement = try child.referring(to: found.keys(index)) {
        requests += try statement.sentRequests()
        numbers.append(index)
      }
      index += 1
    }
    let answers = requests.isEmpty ? [] : try await transport.answers(to: requests)
    guard answers.count == requests.count else { throw SqlError.withoutAnswer }
    var received: [Int: ReceivedRows] = [:]
    for (number, (answer, request)) in zip(numbers, zip(answers, requests)) {
      received[number] = ReceivedRows(answer: answer, sql: request.sql)
    }
    return try together(found, ReceivedChildren(rows: received))
  }
}

/// The parents, and the values that their children refer to.
private struct FoundParents<Parent: Sqlable> {
  var parents: [Parent] = []
  /// The values by which each kind of children refers to a parent, for each parent.
  var keys: [[DatabaseValue]] = []

  init(positions: [Int], _ eachRow: ((ReadRow) throws -> Void) throws -> Void) throws {
    try eachRow { row in
      keys.append(try positions.map { try row.databaseValue(at: $0) })
      parents.append(try row.model())
    }
  }

  /// The values that one kind of children refers to.
  func keys(_ index: Int) -> [DatabaseValue] { keys.map { $0[index] } }
}

/// A source of the children's rows.
private protocol ChildReader {
  func read<Child>(
    _ statement: Statement<Child, [Child]>, number: Int, _ body: (ReadRow) throws -> Void
  ) throws
}

private struct ChildrenOfHandle: ChildReader {
  let db: SqliteDatabase

  func read<Child>(
    _ statement: Statement<Child, [Child]>, number: Int, _ body: (ReadRow) throws -> Void
  ) throws {
    try statement.eachRow(db, body)
  }
}

private struct ReceivedChildren: ChildReader {
  let rows: [Int: ReceivedRows]

  func read<Child>(
    _ statement: Statement<Child, [Child]>, number: Int, _ body: (ReadRow) throws -> Void
  ) throws {
    try rows[number]?.forEach(.positioned(statement.layout), body)
  }
}

extension Children {
  /// The position of the column that the foreign key refers to. Throws if it refers to another table or column, or
  /// perhaps to none: rows would match only by chance.
  fileprivate func position(ofKeyIn parents: TableInfo, of model: TableInfo) throws -> Int {
    let table = try statement.tree.table
    let column = table.columns[try table.position(ofColumn: foreignKey)]
    let wanted = try key.map(parents.position(ofColumn:))
    let references = table.references(of: column)
    guard !references.isEmpty else {
      if let wanted { return wanted }
      throw SqlError.misuse(
        "column \(column.name) is not declared as a ForeignKey; pass the column that it refers to as `of`"
      ).at(table: table.name, column: column.name)
    }
    for reference in references {
      let name = reference.table()
      guard name.isSameName(as: model.name) || name.isSameName(as: parents.name) else { continue }
      let names = reference.columns
      guard names.count == 1, let position = parents.columns.firstIndex(where: { $0.name.isSameName(as: names[0]) })
      else { continue }
      if wanted == nil || wanted == position { return position }
    }
    throw SqlError.misuse(
      "column \(column.name) does not refer to \(parents.name)"
        + (wanted.map { ".\(parents.columns[$0].name)" } ?? "")
    ).at(table: table.name, column: column.name)
  }

  /// Throws if the storage class of the foreign key differs from that of the column it refers to: as keys of groups,
  /// '1' and 1 differ.
  fileprivate func check(refersTo key: Column) throws {
    let table = try statement.tree.table
    let column = table.columns[try table.position(ofColumn: foreignKey)]
    let classes = [column, key].map { $0.type.storageClass == .real ? .integer : $0.type.storageClass }
    // A column without a declared class can hold any.
    guard classes[0] != classes[1], !classes.contains(.blob) else { return }
    throw SqlError.misuse(
      "can't group rows by a foreign key of \(column.type.name) that refers to \(key.type.name)"
    ).at(table: table.name, column: column.name)
  }

  /// The children of the parents with these keys.
  fileprivate func grouped(
    by keys: [DatabaseValue], _ read: (Statement<Child, [Child]>, (ReadRow) throws -> Void) throws -> Void
  ) throws -> Groups<Child> {
    let position = try statement.tree.table.position(ofColumn: foreignKey)
    var groups = Groups<Child>(collation: try collation())
    guard let statement = try referring(to: keys) else { return groups }
    try read(statement) { row in groups.add(try row.model(), of: try row.databaseValue(at: position)) }
    return groups
  }

  /// The read of the rows that refer to one of these values; nil if there is no value to refer to.
  fileprivate func referring(to keys: [DatabaseValue]) throws -> Statement<Child, [Child]>? {
    if case .select(let query) = statement.tree, query.isLimited {
      throw SqlError.invalidStatement("a limit would apply to the rows of all parents together").at(
        table: query.table.name)
    }
    let wanted = Set(keys.filter { $0 != .null })
    guard !wanted.isEmpty else { return nil }
    return statement.filter(SqlExpression(.isIn(SqlExpression(.column(foreignKey)), Array(wanted))))
  }

  /// The collation with which SQLite compares the foreign key.
  fileprivate func collation() throws -> Collate {
    let table = try statement.tree.table
    let column = table.columns[try table.position(ofColumn: foreignKey)]
    guard let collation = column.definition.options.collation else { return .binary }
    guard case .named(let name) = collation else { return collation }
    throw SqlError.misuse("can't group rows by a foreign key with collation \(name)").at(
      table: table.name, column: column.name)
  }
}

/// Rows grouped by the value they refer to.
private struct Groups<Child> {
  /// How SQLite compares the keys.
  let collation: Collate
  private var children: [GroupKey: [Child]] = [:]

  init(collation: Collate) { self.collation = collation }

  mutating func add(_ child: Child, of key: DatabaseValue) {
    children[GroupKey(key, collation), default: []].append(child)
  }

  func children(of key: DatabaseValue) -> [Child] { children[GroupKey(key, collation)] ?? [] }
}

/// A key for grouping rows. Two are equal if SQLite considers them equal, which differs from Swift's equality of
/// strings.
private enum GroupKey: Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob(Data)

  init(_ value: DatabaseValue, _ collation: Collate) {
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

  /// The references that are declared for this column alone.
  fileprivate func references(of column: Column) -> [ForeignKeyReference] {
    column.definition.options.foreignKeys
      + constraints.foreignKeys.filter { $0.columns.count == 1 && $0.columns[0].isExactly(column.name) }
      .map(\.reference)
  }
}

extension Statement where Output == [Model] {
  /// Calls `body` with each row.
  fileprivate func eachRow(_ db: SqliteDatabase, _ body: (ReadRow) throws -> Void) throws {
    let reading = try db.beginReading(tree)
    defer { db.endReading(reading) }
    while try reading.step() { try body(reading.row) }
  }
}
