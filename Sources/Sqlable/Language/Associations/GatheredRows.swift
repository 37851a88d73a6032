import FoundationEssentials

/// What one level of an ``Including`` reads while it runs: by one query, once the level above has its rows.
protocol GatheredLevel: AnyObject {
  /// The position, in a row above, of the value by which rows of this level belong to it.
  var above: Int { get }

  /// The levels whose rows belong to this one's.
  var below: [any GatheredLevel] { get }

  /// The values by which the rows of a level below belong to this one's, for each row.
  func values(forLevel index: Int) -> [DatabaseValue]

  /// The query for the rows that belong to rows with these values; nil if none can.
  func query(for values: [DatabaseValue]) -> LevelQuery?

  func take(_ row: ReadRow) throws
}

/// A level together with what a row above comes with, given the value by which it has its rows.
struct GatheredPart<Output: Sendable> {
  let level: any GatheredLevel
  let output: (DatabaseValue) -> Output
}

/// The rows of one level as models.
final class GatheredRows<Model: Sqlable>: GatheredLevel {
  private(set) var models: [Model] = []
  private(set) var below: [any GatheredLevel] = []
  private let table: TableInfo
  /// The level, and how its rows belong to those above; nil for the first one, whose query is given.
  private let level: (AssociationLevel, path: FoundPath)?
  private var places: [GroupKey: [Int]] = [:]
  /// The position in a row, for each level below, of the value by which its rows belong to it, and the values.
  private var (positions, values): ([Int], [[DatabaseValue]]) = ([], [])

  /// The rows of a level below those of a table. Throws if the declarations contradict the level's path.
  init(_ level: AssociationLevel, under above: TableInfo) throws {
    self.level = (level, try level.found(under: above))
    table = level.query.table
  }

  /// The rows that a read has.
  init(of table: TableInfo) { (level, self.table) = (nil, table) }

  var above: Int { level?.path.above ?? 0 }

  /// Adds a level below.
  func gathering<Part: Sendable>(_ part: AssociatedPart<Part>) throws -> GatheredPart<Part> {
    let gathered = try part.gathering(under: table)
    below.append(gathered.level)
    positions.append(gathered.level.above)
    values.append([])
    return gathered
  }

  func values(forLevel index: Int) -> [DatabaseValue] { values[index] }

  func query(for values: [DatabaseValue]) -> LevelQuery? {
    level.flatMap { level, path in level.rows(of: values, by: path) }
  }

  func take(_ row: ReadRow) throws {
    for (index, position) in positions.enumerated() { values[index].append(try row.databaseValue(at: position)) }
    if let (level, path) = level {
      let key = GroupKey(try row.databaseValue(at: level.position(by: path)), path.collation)
      places[key, default: []].append(models.count)
    }
    row.beginModel(at: 0, count: table.count)
    models.append(try row.model())
  }

  /// The places of the rows that belong to a row above, in their order.
  func places(of value: DatabaseValue) -> [Int] {
    guard let level, value != .null else { return [] }
    return places[GroupKey(value, level.path.collation)] ?? []
  }

  /// A row with what belongs to it.
  func row<each Part: Sendable>(_ place: Int, _ parts: repeat GatheredPart<each Part>) -> (Model, repeat each Part) {
    var index = -1
    func output<Some: Sendable>(_ part: GatheredPart<Some>) -> Some {
      index += 1
      return part.output(values[index][place])
    }
    return (models[place], repeat output(each parts))
  }
}

/// The numbers of rows that belong to the rows above.
final class GatheredCounts: GatheredLevel {
  private let level: AssociationLevel
  private let path: FoundPath
  private var counts: [GroupKey: Int] = [:]

  init(_ level: AssociationLevel, under above: TableInfo) throws {
    (self.level, path) = (level, try level.found(under: above))
  }

  var above: Int { path.above }

  var below: [any GatheredLevel] { [] }

  func values(forLevel index: Int) -> [DatabaseValue] { [] }

  func query(for values: [DatabaseValue]) -> LevelQuery? { level.rows(of: values, by: path) }

  func take(_ row: ReadRow) throws {
    guard case .integer(let count) = try row.databaseValue(at: 1) else { return }
    counts[GroupKey(try row.databaseValue(at: 0), path.collation), default: 0] += Int(count)
  }

  func count(of value: DatabaseValue) -> Int { value == .null ? 0 : counts[GroupKey(value, path.collation)] ?? 0 }
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
