import FoundationEssentials

/// A read whose rows come with those of other tables that refer to them: two statements, whatever the number of rows.
///
/// ```swift
/// let owners = Person.read().orderBy(Person.name).including(Bicycle.read().orderBy(Bicycle.id), by: Bicycle.ownerId)
/// for (person, bikes) in try owners.run(db) { … }     // (Person, [Bicycle])
/// // SELECT "id", "name" FROM "person" ORDER BY "name"
/// // SELECT … FROM "bicycle" WHERE "owner_id" IN (?, ?, ?) ORDER BY "id"
/// ```
///
/// All statements see one snapshot of the database. It is immutable, `Sendable` and `Hashable`.
public struct ToMany<Parent: Sqlable, each Child: Sqlable>: Sendable, Hashable {
  let parents: Statement<Parent, [Parent]>
  let children: (repeat Children<each Child>)

  public static func == (left: ToMany, right: ToMany) -> Bool {
    guard left.parents == right.parents else { return false }
    for (own, other) in repeat (each left.children, each right.children) {
      guard own == other else { return false }
    }
    return true
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(parents)
    for child in repeat each children { hasher.combine(child) }
  }
}

/// The rows that refer to others, and how.
struct Children<Child: Sqlable>: Sendable, Hashable {
  let statement: Statement<Child, [Child]>
  /// The column that refers to the parents.
  let foreignKey: ColumnReference
  /// The column of the parents that it refers to; nil for their primary key.
  let key: ColumnReference?
}

extension Statement where Output == [Model] {
  /// Reads the rows together with those that refer to them by a column.
  ///
  /// - Parameters:
  ///   - children: the rows to choose from, in their order. A limit would count those of all parents together: running
  ///     it throws `.invalidStatement`.
  ///   - foreignKey: the column of the children that refers to this table.
  ///   - key: the column that it refers to, if not the primary key.
  public func including<Child>(
    _ children: Statement<Child, [Child]>, by foreignKey: any ColumnConvertible, of key: (any ColumnConvertible)? = nil
  ) -> ToMany<Model, Child> {
    ToMany<Model, Child>(parents: self, children: (Children(children, foreignKey, key)))
  }

  /// Reads the rows together with all that refer to them by a typed column.
  ///
  /// ```swift
  /// Owner.read().including(Pet.ownerId)     // ToMany<Owner, Pet>
  /// ```
  public func including<Child, Value>(_ foreignKey: TypedColumn<Child, Value>) -> ToMany<Model, Child> {
    including(Child.read(), by: foreignKey)
  }
}

extension ToMany {
  /// Reads the rows together with further ones that refer to them.
  public func including<Next>(
    _ children: Statement<Next, [Next]>, by foreignKey: any ColumnConvertible, of key: (any ColumnConvertible)? = nil
  ) -> ToMany<Parent, repeat each Child, Next> {
    ToMany<Parent, repeat each Child, Next>(
      parents: parents, children: (repeat each self.children, Children(children, foreignKey, key)))
  }

  /// Reads the rows, each with those that refer to it.
  ///
  /// A row whose key is NULL, or that nothing refers to, comes with none. Throws what reading throws, and `.misuse` when the
  /// parents have no key of one column, or the foreign key is of another class than it or has a collation of one's own.
  public func run(_ db: SqliteDatabase) throws -> [(Parent, repeat [each Child])] {
    // Outside a transaction the statements would see what others commit between them.
    try db.transaction(.deferred) { db in
      var parents: [Parent] = []
      var keys: [[SqlStorage]] = []
      let table = try self.parents.query.table(of: Parent.self)
      var positions: [Int] = []
      for child in repeat each children {
        positions.append(try table.position(ofKey: child.key))
        try child.check(refersTo: table.columns[positions[positions.count - 1]])
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
  init(_ statement: Statement<Child, [Child]>, _ foreignKey: any ColumnConvertible, _ key: (any ColumnConvertible)?) {
    self.statement = statement
    self.foreignKey = ColumnReference(foreignKey.column)
    self.key = key.map { ColumnReference($0.column) }
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

  fileprivate func position(ofKey column: ColumnReference?) throws -> Int {
    if let column { return try position(ofColumn: column) }
    guard key.count == 1 else {
      throw SqlError.misuse("table \(name) has no primary key of one column for others to refer to").at(table: name)
    }
    return key[0]
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
