import SqlableCore

/// The rows of one level of an ``AssociatedQuery``. One query reads these rows after the parent rows have been read.
protocol GatheredLevel: AnyObject {
  var parentPositions: [Int] { get }

  var childLevels: [any GatheredLevel] { get }

  func values(forLevel index: Int) -> [DatabaseValue]

  /// Returns the query for the rows that match the connecting values of the parent rows; nil if no row can match.
  func query(for values: [DatabaseValue]) -> LevelQuery?

  func take(_ row: ReadRow) throws
}

struct GatheredPart<Output: Sendable> {
  let level: any GatheredLevel
  let output: (ArraySlice<DatabaseValue>) throws -> Output
}

final class GatheredRows<Model: Sqlable>: GatheredLevel {
  /// A raw buffer, because every access to a generic array would look up the array's type at run time.
  @exclusivity(unchecked) private var models: UnsafeMutablePointer<Model>
  @exclusivity(unchecked) private var (count, capacity) = (0, 16)
  private(set) var childLevels: [any GatheredLevel] = []
  private let table: TableInfo
  private let columns: Int
  /// The level and its resolved path; nil for the root rows.
  private let level: (AssociationLevel, path: ResolvedPath)?
  /// The positions, in a row, of the values that connect the row with its parent row.
  private let connecting: [Int]?
  @exclusivity(unchecked) private var groups: GroupedIndexes
  /// The positions of the connecting values in a row, for each child level. `values` contains the values themselves.
  private var positions: [[Int]] = []
  @exclusivity(unchecked) private var values: [[DatabaseValue]] = []

  /// Creates the buffer for a level under a parent table. Throws if the declarations contradict the level's path.
  convenience init(_ level: AssociationLevel, under parentTable: TableInfo) throws {
    self.init(of: level.query.table, (level, try level.resolvedPath(under: parentTable)))
  }

  convenience init(of table: TableInfo) { self.init(of: table, nil) }

  private init(of table: TableInfo, _ level: (AssociationLevel, path: ResolvedPath)?) {
    (self.table, columns, self.level) = (table, table.count, level)
    connecting = level.map { level, path in level.positions(by: path) }
    groups = GroupedIndexes(collations: level?.path.collations ?? [])
    models = .allocate(capacity: capacity)
  }

  deinit {
    models.deinitialize(count: count)
    models.deallocate()
  }

  var parentPositions: [Int] { level?.path.parentPositions ?? [] }

  func gathering<Part: Sendable>(_ part: AssociatedPart<Part>) throws -> GatheredPart<Part> {
    let gathered = try part.gathering(under: table)
    childLevels.append(gathered.level)
    positions.append(gathered.level.parentPositions)
    values.append([])
    return gathered
  }

  func values(forLevel index: Int) -> [DatabaseValue] { values[index] }

  func query(for values: [DatabaseValue]) -> LevelQuery? {
    level.flatMap { level, path in level.rows(of: values, by: path) }
  }

  func take(_ row: ReadRow) throws {
    for index in positions.indices {
      for position in positions[index] { values[index].append(try row.databaseValue(at: position)) }
    }
    let group = try connecting.map { positions in try groups.key { try row.databaseValue(at: positions[$0]) } }
    row.beginModel(at: 0, count: columns)
    if count == capacity { grow() }
    (models + count).initialize(to: try row.model())
    if let group { groups.add(group, at: count) }
    count += 1
  }

  private func grow() {
    let larger = UnsafeMutablePointer<Model>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: models, count: count)
    models.deallocate()
    (models, capacity) = (larger, capacity * 2)
  }

  func models(of values: ArraySlice<DatabaseValue>) -> [Model] {
    let indexes = groups.indexes(of: values)
    return Array(unsafeUninitializedCapacity: indexes.count) { memory, count in
      for index in indexes {
        (memory.baseAddress.unsafelyUnwrapped + count).initialize(to: models[index])
        count += 1
      }
    }
  }

  func first(of values: ArraySlice<DatabaseValue>) -> Model? { groups.first(of: values).map { models[$0] } }

  func indexes(of values: ArraySlice<DatabaseValue>) -> [Int] { groups.indexes(of: values) }

  func firstIndex(of values: ArraySlice<DatabaseValue>) -> Int? { groups.first(of: values) }

  func rows<each Part: Sendable>(_ parts: repeat GatheredPart<each Part>) throws -> [(Model, repeat each Part)] {
    try (0..<count).map { try row($0, repeat each parts) }
  }

  func row<each Part: Sendable>(
    _ rowIndex: Int, _ parts: repeat GatheredPart<each Part>
  ) throws -> (Model, repeat each Part) {
    var index = -1
    func output<Some: Sendable>(_ part: GatheredPart<Some>) throws -> Some {
      index += 1
      let width = positions[index].count
      return try part.output(values[index][(rowIndex * width)..<((rowIndex + 1) * width)])
    }
    return (models[rowIndex], repeat try output(each parts))
  }
}

/// An aggregate of the associated rows of each parent row.
final class GatheredValues<Value: SqlValue>: GatheredLevel {
  private let level: AssociationLevel
  private let path: ResolvedPath
  private var values: [GroupKey: Value] = [:]
  private var type = Value.columnType

  init(_ level: AssociationLevel, under parentTable: TableInfo) throws {
    (self.level, path) = (level, try level.resolvedPath(under: parentTable))
    if level.form == .count { values[.null] = try Value(databaseValue: .integer(0)) }
  }

  var parentPositions: [Int] { path.parentPositions }

  var childLevels: [any GatheredLevel] { [] }

  func values(forLevel index: Int) -> [DatabaseValue] { [] }

  func query(for values: [DatabaseValue]) -> LevelQuery? {
    let query = level.rows(of: values, by: path)
    if let columnType = query?.columns.last?.type { type = columnType }
    return query
  }

  func take(_ row: ReadRow) throws {
    let key = try GroupKey(path.collations) { try row.databaseValue(at: $0) }
    let value: Value = try row.value(at: path.collations.count, type: type)
    values.updateValue(value, forKey: key)
  }

  /// Returns the aggregate for parent rows with this key. For a parent without associated rows, returns the aggregate's
  /// value for an empty set, which the query returns in a row with a NULL key. Throws if that row is missing, for
  /// example because the function is not an aggregate.
  func value(of key: ArraySlice<DatabaseValue>) throws -> Value {
    guard let aggregate = values[GroupKey(key, path.collations)] ?? values[.null] else { throw SqlError.noAggregate }
    return aggregate
  }
}

/// The indexes of rows, grouped by the values that connect a row with its parent row.
private struct GroupedIndexes {
  private struct Group {
    let first: Int
    var last: Int
    var count = 0

    /// Adds an index, and returns the group's previous index.
    mutating func append(_ index: Int) -> Int {
      defer { (last, count) = (index, count + 1) }
      return last
    }
  }

  private let collations: [Collate]
  private var integers: [Int64: Group] = [:]
  private var otherGroups: [GroupKey: Group] = [:]
  /// For the index of each row, the index of the next row in the same group. The entry of a group's last row is unused.
  private var next: [Int] = []

  init(collations: [Collate]) { self.collations = collations }

  func key(_ value: (Int) throws -> DatabaseValue) rethrows -> GroupKey { try GroupKey(collations, value) }

  mutating func add(_ key: GroupKey, at index: Int) {
    let new = Group(first: index, last: index)
    let last =
      switch key {
      case .integer(let integer): integers[integer, default: new].append(index)
      case let key: otherGroups[key, default: new].append(index)
      }
    next.append(index)
    next[last] = index
  }

  private func group(of values: ArraySlice<DatabaseValue>) -> Group? {
    switch GroupKey(values, collations) {
    case .null: nil
    case .integer(let integer): integers[integer]
    case let key: otherGroups[key]
    }
  }

  func first(of values: ArraySlice<DatabaseValue>) -> Int? { group(of: values)?.first }

  func indexes(of values: ArraySlice<DatabaseValue>) -> [Int] {
    guard let group = group(of: values) else { return [] }
    var index = group.first
    return (0..<group.count).map { _ in
      defer { index = next[index] }
      return index
    }
  }
}

/// A key for grouping rows. Two keys are equal if SQLite considers the values equal. Texts are bytes, because Swift
/// considers canonically equivalent strings equal and SQLite does not.
private enum GroupKey: Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob([UInt8])
  case row([GroupKey])

  /// Creates the key of a row's values; `null` if a value is NULL. `value` returns the value at a position.
  init(_ collations: [Collate], _ value: (Int) throws -> DatabaseValue) rethrows {
    guard collations.count != 1 else {
      self.init(try value(0), collations[0])
      return
    }
    let keys = try collations.indices.map { GroupKey(try value($0), collations[$0]) }
    self = keys.contains(.null) ? .null : .row(keys)
  }

  init(_ values: ArraySlice<DatabaseValue>, _ collations: [Collate]) {
    self.init(collations) { values[values.startIndex + $0] }
  }

  private init(_ value: DatabaseValue, _ collation: Collate) {
    switch value {
    case .null: self = .null
    case .integer(let integer): self = .integer(integer)
    case .real(let real): self = Int64(exactly: real).map(GroupKey.integer) ?? .real(real)
    case .blob(let data): self = .blob(Array(data))
    case .text(let text):
      var bytes = Array(text.utf8)
      switch collation {
      case .binary, .named: break
      case .nocase:
        bytes = bytes.map(\.foldedLetter)
        // NOCASE compares texts up to the first NUL, and then the lengths.
        if let end = bytes.firstIndex(of: 0) {
          let length = bytes.count
          bytes.removeSubrange((end + 1)...)
          withUnsafeBytes(of: length) { bytes += $0 }
        }
      case .rtrim: while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
      }
      self = .text(bytes)
    }
  }
}
