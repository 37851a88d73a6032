import Foundation
import SqlableCore

// Tests/Record has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// A table of which two models have the same columns.
protocol Twin: Sqlable {
  static var id: Column { get }
  static var a: Column { get }
  static var b: Column { get }
  static var c: Column { get }
  /// The values by column; nil for a column that the struct leaves out.
  var values: [DatabaseValue?] { get }
  init(values: [DatabaseValue?])
}

extension Twin {
  func valueForColumn(_ column: Column) -> SqlValue? {
    guard let position = Self.tableLayout.firstIndex(of: column), let value = values[position] else { return nil }
    return value.sqlValue
  }

  init(row: ReadRow) throws {
    let (a, b, c): (Int64?, String?, Double?) = (try row.get(Self.a), try row.get(Self.b), try row.get(Self.c))
    self.init(values: [
      .integer(try row.get(Self.id)), a.map { .integer($0) } ?? .null, b.map { .text($0) } ?? .null,
      c.map { .real($0) } ?? .null,
    ])
  }
}

struct LeftTwin: Twin {
  static let id = Column("id", .integer, PrimaryKey())
  static let a = Column("a", .nullable(.integer), Unique())
  static let b = Column("b", .nullable(.text), Default("unset"))
  static let c = Column("c", .nullable(.real))
  static let tableLayout = [id, a, b, c]
  let values: [DatabaseValue?]
}

struct RightTwin: Twin {
  static let id = Column("id", .integer, PrimaryKey())
  static let a = Column("a", .nullable(.integer), Unique())
  static let b = Column("b", .nullable(.text), Default("unset"))
  static let c = Column("c", .nullable(.real))
  static let tableLayout = [id, a, b, c]
  let values: [DatabaseValue?]
}

/// The parts of a statement, each of which can be replaced by another.
struct NearStatement {
  enum Form: CaseIterable {
    case rows, first, count, exists, byKey, terms, update, updateAll, delete, insert, insertSome, save, updateRow
    case updateSome, deleteRow, upsert, insertAndReturn

    var isChange: Bool {
      switch self {
      case .rows, .first, .count, .exists, .byKey, .terms: false
      default: true
      }
    }
  }

  struct Condition {
    enum Operator: CaseIterable {
      case equal, unequal, less, lessOrEqual, greater, greaterOrEqual, same, notSame, isNull, isNotNull, between, isIn
      case isNotIn, like
    }

    var column: Int
    var operation: Operator
    var value: DatabaseValue
    var listCount: Int
    var isNegated: Bool
  }

  var isRight = false
  var table: String?
  var database: String?
  var form: Form
  var conditions: [Condition]
  var isAny = false
  var order: [(column: Int, order: Order)]
  var limit: Int?
  var offset: Int?
  var key: Int
  var chosen: [Int]
  var policy: ConflictPolicy?
  var row: [DatabaseValue?]

  // MARK: Generation

  private static func value(_ column: Int, _ random: inout SeededGenerator) -> DatabaseValue {
    if column > 0, random.chance(15) { return .null }
    switch column {
    case 0, 1: return .integer(Int64.random(in: 0...9, using: &random))
    case 2: return .text(random.pick(["red", "blue", "Red", "x", "1"]))
    default: return random.pick([.integer(1), .real(1.5), .real(-2), .integer(5)])
    }
  }

  private static func condition(_ random: inout SeededGenerator) -> Condition {
    let column = Int.random(in: 0..<4, using: &random)
    return Condition(
      column: column, operation: random.pick(Condition.Operator.allCases), value: value(column, &random),
      listCount: Int.random(in: 0...4, using: &random), isNegated: random.chance(10))
  }

  private static func chosen(_ random: inout SeededGenerator) -> [Int] {
    Array((1..<4).shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)))
  }

  private static func row(_ random: inout SeededGenerator) -> [DatabaseValue?] {
    (0..<4).map { random.chance($0 == 0 ? 10 : 25) ? nil : value($0, &random) }
  }

  init(_ random: inout SeededGenerator) {
    form = random.pick(Form.allCases)
    conditions = (0..<Int.random(in: 0...3, using: &random)).map { _ in NearStatement.condition(&random) }
    order = random.chance(50) ? [(Int.random(in: 0..<4, using: &random), random.pick([.asc, .desc]))] : []
    limit = random.chance(40) ? Int.random(in: 1...6, using: &random) : nil
    key = Int.random(in: 0...9, using: &random)
    chosen = NearStatement.chosen(&random)
    row = NearStatement.row(&random)
  }

  /// Returns the statement with another value of one part.
  func changed(_ random: inout SeededGenerator) -> NearStatement {
    var other = self
    let index = conditions.indices.randomElement(using: &random)
    switch Int.random(in: 0..<18, using: &random) {
    case 0: other.isRight.toggle()
    case 1: other.table = table == nil ? "twin_copy" : nil
    case 2: other.database = random.pick([nil, "main", "other"].filter { $0 != database })
    case 3: other.form = random.pick(Form.allCases.filter { $0.isChange == form.isChange && $0 != form })
    case 4: other.isAny.toggle()
    case 5:
      guard let index else { fallthrough }
      other.conditions[index].column = random.pick((0..<4).filter { $0 != conditions[index].column })
    case 6, 7:
      guard let index else { fallthrough }
      let operation = conditions[index].operation
      other.conditions[index].operation = random.pick(Condition.Operator.allCases.filter { $0 != operation })
    case 8:
      guard let index else { fallthrough }
      other.conditions[index].value = NearStatement.value(conditions[index].column, &random)
    case 9:
      guard let index else { fallthrough }
      other.conditions[index].listCount += 1
    case 10:
      guard let index else { fallthrough }
      other.conditions[index].isNegated.toggle()
    case 11: other.conditions.append(NearStatement.condition(&random))
    case 12: other.order = order.isEmpty ? [(1, .asc)] : order.map { ($0.column, $0.order == .asc ? .desc : .asc) }
    case 13: other.order = order.isEmpty ? [(0, .desc)] : order.map { (($0.column + 1) % 4, $0.order) }
    case 14: other.limit = limit == nil ? 2 : nil
    case 15: other.offset = offset == nil ? 1 : nil
    case 16: other.chosen = NearStatement.chosen(&random)
    default:
      let position = Int.random(in: 0..<4, using: &random)
      other.row[position] = row[position] == nil ? NearStatement.value(position, &random) : nil
      other.policy = random.pick([nil, .ignore, .replace, .abort])
      other.key = (key + 1) % 12
    }
    return other
  }
}

// MARK: - Statements

extension NearStatement {
  /// Runs the statement. Returns the rows, or the number of changed rows or the id.
  func run(_ db: SqliteDatabase) throws -> [String] {
    try isRight ? run(RightTwin.self, db) : run(LeftTwin.self, db)
  }

  /// Calls `body` with each row of the statement, if it reads rows.
  func forEach(_ db: SqliteDatabase, _ body: () throws -> Void) throws {
    func each<Model: Twin>(_ model: Model.Type) throws {
      try adapted(Model.read()).forEach(db) { _ in try body() }
    }
    try isRight ? each(RightTwin.self) : each(LeftTwin.self)
  }

  private func run<Model: Twin>(_ model: Model.Type, _ db: SqliteDatabase) throws -> [String] {
    let columns = Model.tableLayout
    let model = Model(values: row)
    let sets = chosen.map { columns[$0].set(to: row[$0]?.sqlValue) }
    switch form {
    case .rows: return try adapted(Model.read()).run(db).map { "\($0.values)" }
    case .first: return ["\(String(describing: try adapted(Model.read()).first().run(db)?.values))"]
    case .count: return ["\(try adapted(Model.count()).run(db))"]
    case .exists: return ["\(try adapted(Model.exists()).run(db))"]
    case .byKey:
      return ["\(String(describing: try named(Model.byId(key)).run(db)?.values))"]
    case .terms:
      let select = Model.select(columns[chosen[0]], columns[chosen.last ?? 0])
      let filtered = filter(columns).map { select.filter($0) } ?? select
      return try filtered.run(db).map { "\($0.values)" }
    case .update: return ["\(try adapted(Model.update(sets[0])).run(db))"]
    case .updateAll: return ["\(try named(Model.updateAll(sets[0])).run(db))"]
    case .delete: return ["\(try adapted(Model.delete()).run(db))"]
    case .insert: return ["\(try policed(model.insert()).run(db))"]
    case .insertSome: return ["\(try policed(model.insert(columns[chosen[0]], columns[0])).run(db))"]
    case .save: return ["\(try named(model.save()).run(db))"]
    case .updateRow: return ["\(try policed(model.update()).run(db))"]
    case .updateSome: return ["\(try policed(model.update(columns[chosen[0]])).run(db))"]
    case .deleteRow: return ["\(try named(model.delete()).run(db))"]
    case .upsert: return ["\(try named(model.insert().onConflict(columns[0], update: columns[chosen[0]])).run(db))"]
    case .insertAndReturn: return try policed(model.insert()).returning().run(db).map { "\($0.values)" }
    }
  }

  private func named<Model, Output>(_ statement: Statement<Model, Output>) -> Statement<Model, Output> {
    var statement = statement
    if let table { statement = statement.in(table) }
    if let database { statement = statement.in(database: database) }
    return statement
  }

  private func policed<Model, Output>(_ statement: Statement<Model, Output>) -> Statement<Model, Output> {
    policy.map { named(statement).onConflict($0) } ?? named(statement)
  }

  /// Returns a statement with the filter, order and limit.
  private func adapted<Model: Twin, Output>(_ statement: Statement<Model, Output>) -> Statement<Model, Output> {
    var statement = named(statement)
    if let filter = filter(Model.tableLayout) { statement = statement.filter(filter) }
    for (column, order) in order { statement = statement.orderBy(Model.tableLayout[column], order) }
    if let limit { statement = statement.limit(limit) }
    if let offset { statement = statement.offset(offset) }
    return statement
  }

  private func filter(_ columns: [Column]) -> SqlExpression? {
    guard !conditions.isEmpty else { return nil }
    let terms = conditions.map { $0.term(columns[$0.column]) }
    return isAny ? .any(terms) : .all(terms)
  }
}

extension NearStatement.Condition {
  fileprivate func term(_ column: Column) -> SqlExpression {
    let value = value.sqlValue
    let term: SqlExpression =
      switch operation {
      case .equal: column == value
      case .unequal: column != value
      case .less: column < value
      case .lessOrEqual: column <= value
      case .greater: column > value
      case .greaterOrEqual: column >= value
      case .same: column.is(value)
      case .notSame: column.isNot(value)
      case .isNull: column.isNull
      case .isNotNull: column.isNotNull
      case .between: column.between(value, and: value)
      case .isIn: self.column == 2 ? column.in(texts) : column.in(Array(0..<listCount))
      case .isNotIn: self.column == 2 ? column.notIn(texts) : column.notIn(Array(0..<listCount))
      case .like: column.like("%e%")
      }
    return isNegated ? !term : term
  }

  private var texts: [String] { Array(["red", "blue", "x", "1", "Red"].prefix(listCount)) }
}

extension DatabaseValue {
  fileprivate var sqlValue: SqlValue {
    switch self {
    case .null: Null()
    case .integer(let integer): integer
    case .real(let real): real
    case .text(let text): text
    case .blob(let bytes): bytes
    }
  }
}
