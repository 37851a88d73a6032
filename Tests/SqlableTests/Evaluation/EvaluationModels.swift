import Foundation
import Sqlable

/// A row with a value of each class, and a date in each form; any of them may be missing.
struct MemorySample: Sqlable, Equatable {
  static let id = Column("id", .integer, PrimaryKey())
  static let i = Column("i", .nullable(.integer))
  static let r = Column("r", .nullable(.real))
  static let t = Column("t", .nullable(.text))
  static let n = Column("n", .nullable(.text), Collate.nocase)
  static let s = Column("s", .nullable(.text), Collate.rtrim)
  static let b = Column("b", .nullable(.blob))
  static let real = Column("real", .nullable(.date))
  static let seconds = Column("seconds", .nullable(.date(.unixSeconds)))
  static let milliseconds = Column("milliseconds", .nullable(.date(.unixMilliseconds)))
  static let iso = Column("iso", .nullable(.date(.iso8601)))
  static let tableLayout = [id, i, r, t, n, s, b, real, seconds, milliseconds, iso]
  static let dates = [real, seconds, milliseconds, iso]

  var id: Int
  var i: Int64?
  var r: Double?
  var t: String?
  var n: String?
  var s: String?
  var b: Data?
  var date: Date?

  init(id: Int) { self.id = id }

  init(row: ReadRow) throws {
    id = try row.get(MemorySample.id)
    i = try row.get(MemorySample.i)
    r = try row.get(MemorySample.r)
    t = try row.get(MemorySample.t)
    n = try row.get(MemorySample.n)
    s = try row.get(MemorySample.s)
    b = try row.get(MemorySample.b)
    date = try row.get(MemorySample.milliseconds)
    for column in [MemorySample.real, MemorySample.seconds, MemorySample.iso] { row.skip(column) }
  }

  func write(to row: inout RowWriter) throws {
    row.set(MemorySample.id, id)
    row.set(MemorySample.i, i)
    row.set(MemorySample.r, r)
    row.set(MemorySample.t, t)
    row.set(MemorySample.n, n)
    row.set(MemorySample.s, s)
    row.set(MemorySample.b, b)
    row.set(MemorySample.real, date)
    row.set(MemorySample.seconds, date.map { Date(timeIntervalSince1970: $0.timeIntervalSince1970.rounded(.down)) })
    row.set(MemorySample.milliseconds, date)
    row.set(MemorySample.iso, date)
  }
}

/// Random samples, and random terms of any columns, which need no meaning: SQLite says what they are.
struct SampleGenerator {
  var random: SeededGenerator
  private var oracle: OracleGenerator
  /// The columns in reach, as terms.
  var columns: [[SqlExpression]] = [MemorySample.tableLayout.map(\.expression)]

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    oracle = OracleGenerator(seed: seed &+ 7)
  }

  // MARK: Values

  mutating func row(id: Int) -> MemorySample {
    var row = MemorySample(id: id)
    if random.chance(80), case .integer(let value) = oracle.integer() { row.i = value }
    if random.chance(80), case .real(let value) = oracle.real() { row.r = random.chance(5) ? .infinity : value }
    if random.chance(80) { row.t = text() }
    if random.chance(80) { row.n = text() }
    if random.chance(80) { row.s = text() + random.pick(["", " ", "  "]) }
    if random.chance(80) { row.b = Data(random.chance(50) ? Array(text().utf8) : bytes()) }
    if random.chance(80) { row.date = date() }
    return row
  }

  mutating func rows() -> [MemorySample] {
    let count = random.pick([0, 1, 2, 6, 10, 12])
    let isEmpty = random.chance(5)
    return (0..<count).map { isEmpty ? MemorySample(id: $0 + 1) : row(id: $0 + 1) }
  }

  private static let bytes: [[UInt8]] = [
    [], [0], [0, 65], [65], [49, 46], [0xC3, 0xA9], [32], [45, 49], [97, 98], [37],
  ]
  /// Not UTF-8: reading them as text throws.
  private static let odd: [[UInt8]] = [[255, 254], [65, 0x80], [0xC3], [0xE2, 0x82, 65]]
  private static let texts = [
    "a", "A", "ab", "b", "[x]", "a-c", "]", "^", "*", "a?c", " a", "\t5 ", "+7", "-", ".5", "5.", "1e", "1e+2x", "0x10",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e400", "é", "e\u{301}", "\0", "aXbXc",
  ]

  mutating func text() -> String { random.pick(random.chance(50) ? Self.texts : OracleGenerator.texts) }

  private mutating func bytes() -> [UInt8] { random.pick(random.chance(4) ? Self.odd : Self.bytes) }

  private mutating func date() -> Date {
    let seconds = random.pick([0, 951_782_400, 1_709_164_800, 1_706_708_730, 4_102_444_799, -86_400, -62_000_000_000])
    let step = Int.random(in: -40_000_000...40_000_000, using: &random)
    return Date(
      timeIntervalSince1970: Double(seconds + (random.chance(60) ? step : 0)) + random.pick([0, 0, 0.5, 0.125]))
  }

  mutating func number() -> any SqlValue { oracle.number().sqlValue }

  mutating func value() -> any SqlValue {
    if random.chance(10) { return Null() }
    return switch Int.random(in: 0..<10, using: &random) {
    case 0...4: number()
    case 5...7: text()
    default: Data(bytes())
    }
  }

  // MARK: Terms

  mutating func column(_ places: [Int]) -> SqlExpression { random.pick(columns)[random.pick(places)] }
  mutating func date(_ place: Int) -> SqlExpression { random.pick(columns)[place] }

  mutating func any(_ depth: Int) -> SqlExpression {
    switch Int.random(in: 0..<10, using: &random) {
    case 0...2: return number(depth)
    case 3...5: return text(depth)
    case 6: return column([6])
    case 7: return depth > 0 ? condition(depth - 1) : column([1])
    default: return mixed(depth)
    }
  }

  mutating func number(_ depth: Int) -> SqlExpression {
    guard depth > 0 else { return column([0, 1, 1, 2, 2]) }
    let next = depth - 1
    switch Int.random(in: 0..<24, using: &random) {
    case 0: return number(next) + number()
    case 1: return number(next) - number(next)
    case 2: return number(next) * number()
    case 3: return number(next) / number(next)
    case 4: return number(next) % number(next)
    case 5: return -number(next)
    case 6: return text(next).length()
    case 7: return mixed(next).length()
    case 8: return number(next).abs()
    case 9: return number(next).round(random.pick([0, 0, 1, 2, 5]))
    case 10: return text(next).instr(text(0))
    case 11: return text(next).instr(random.pick(["", "a", "é", "\0"]))
    case 12: return mixed(next).cast(to: random.chance(50) ? Int.self : Double.self)
    case 13: return number(next).bitAnd(number(next))
    case 14: return mixed(next).bitOr(Int.random(in: -4...4, using: &random))
    case 15: return number(next).shiftedLeft(random.pick([0, 1, 63, 64, -1, -70]))
    case 16: return mixed(next).shiftedRight(random.pick([0, 1, 63, 64, -1, -70]))
    case 17: return mixed(next).inverted()
    case 18: return text(next).unicode()
    case 19: return part(date(Int.random(in: 7...10, using: &random)))
    case 20: return mixed(next) + mixed(next)
    case 21: return mixed(next) % mixed(next)
    case 22: return mixed(next).abs()
    default: return mixed(next) * mixed(next)
    }
  }

  private mutating func part(_ date: SqlExpression) -> SqlExpression {
    let date =
      random.chance(40) ? date.adding(random.pick([0, 1, -1, 5, 40, -13, 100_000]), random.pick(Self.units)) : date
    switch Int.random(in: 0..<7, using: &random) {
    case 0: return date.year()
    case 1: return date.month()
    case 2: return date.day()
    case 3: return date.hour()
    case 4: return date.minute()
    case 5: return date.weekday()
    default: return date
    }
  }

  private static let units: [DateUnit] = [.second, .minute, .hour, .day, .month, .year]
  private static let formats = [
    "%Y-%m", "%d.%m.%Y", "%H:%M:%S", "%f", "%j", "%s", "%w", "%W", "%%", "%J", "x%", "%Q", "", "é%Y",
  ]

  mutating func text(_ depth: Int) -> SqlExpression {
    guard depth > 0 else { return column([3, 3, 4, 5]) }
    let next = depth - 1
    switch Int.random(in: 0..<18, using: &random) {
    case 0: return text(next).lowercase()
    case 1: return mixed(next).uppercase()
    case 2: return text(next).concatenated(text(next))
    case 3: return mixed(next).concatenated(mixed(next))
    case 4: return text(next).substr(random.pick([0, 1, 2, -1, -3, 9]), random.pick([nil, 0, 1, 2, -1, -2, 9]))
    case 5: return mixed(next).substr(random.pick([0, 1, -2, .min, .max]), random.pick([nil, 1, -1, .max]))
    case 6: return text(next).trim(random.pick([nil, "a", "é a", ""]))
    case 7: return mixed(next).ltrim(random.pick([nil, "1-", "\0"]))
    case 8: return text(next).rtrim(random.pick([nil, "bc"]))
    case 9: return text(next).replace(random.pick(["a", "", "ab", "\0", "é"]), with: random.pick(["", "aa", "x"]))
    case 10: return mixed(next).hex()
    case 11: return mixed(next).typeof()
    case 12: return mixed(next).cast(to: String.self)
    case 13: return date(Int.random(in: 7...10, using: &random)).strftime(random.pick(Self.formats))
    case 14: return date(Int.random(in: 7...10, using: &random)).adding(1, random.pick(Self.units)).date()
    case 15, 16: return text(next).collate(random.pick([.binary, .nocase, .rtrim]))
    default: return column([3, 4, 5])
    }
  }

  /// A term of which the library does not know what it is.
  mutating func mixed(_ depth: Int) -> SqlExpression {
    guard depth > 0 else { return column([6]) }
    let next = depth - 1
    switch Int.random(in: 0..<9, using: &random) {
    case 0: return column([6])
    case 1: return any(next).coalesce(any(next))
    case 2: return any(next).nullIf(value())
    case 3: return any(next).least(any(next))
    case 4: return any(next).greatest(any(next), any(next))
    case 5: return Case.when(condition(next), then: any(next)).else(any(next))
    case 6: return Case.when(condition(next), then: any(next)).when(condition(next), then: any(next)).end()
    case 7: return any(next).cast(to: Data.self)
    default: return any(next)
    }
  }

  mutating func condition(_ depth: Int) -> SqlExpression {
    let next = max(0, depth - 1)
    switch Int.random(in: 0..<20, using: &random) {
    case 0 where depth > 0: return condition(next) && condition(next)
    case 1 where depth > 0: return condition(next) || condition(next)
    case 2 where depth > 0: return !condition(next)
    case 3 where depth > 0: return .all((0..<random.pick([0, 1, 3])).map { _ in condition(next) })
    case 4 where depth > 0: return .any((0..<random.pick([0, 1, 3])).map { _ in any(next) })
    case 5: return any(next).isNull
    case 6: return any(next).isNotNull
    case 7: return number(next).between(number(), and: number())
    case 8: return text(next).between(text(), and: text())
    case 9: return number(next).in((0..<random.pick([0, 1, 3, 33, 40])).map { _ in AnyValue(number()) })
    case 10: return text(next).in((0..<random.pick([0, 1, 3, 33, 40])).map { _ in AnyValue(text()) })
    case 11: return mixed(next).in((0..<random.pick([0, 1, 3, 33, 40])).map { _ in AnyValue(value()) })
    case 12: return any(next).like(pattern(), escape: random.pick([nil, nil, "!", "%", "_", "é"]))
    case 13: return any(next).glob(pattern())
    case 14: return text(next).hasPrefix(text()) || text(next).contains(text())
    case 15: return comparison(mixed(next), mixed(next))
    case 16: return mixed(next).is(value())
    case 17: return comparison(text(next), text(next))
    case 18: return mixed(next).isDistinct(from: mixed(next))
    default: return comparison(number(next), number(next))
    }
  }

  private mutating func comparison(_ left: SqlExpression, _ right: SqlExpression) -> SqlExpression {
    switch Int.random(in: 0..<7, using: &random) {
    case 0: return left == right
    case 1: return left != right
    case 2: return left < right
    case 3: return left <= right
    case 4: return left > right
    case 5: return left >= right
    default: return left == value()
    }
  }

  private mutating func pattern() -> String {
    (0..<random.pick([0, 1, 2, 3, 5])).map { _ in
      random.pick([
        "%", "_", "*", "?", "a", "A", "b", "[a-c]", "[^a]", "[", "]", "!", "é", "1", "\0", "!%", "-", ".", "[]]",
      ])
    }.joined()
  }
}

/// A value of any class, in a list of such.
struct AnyValue: SqlValue {
  let value: any SqlValue

  init(_ value: any SqlValue) { self.value = value }
  init(databaseValue: DatabaseValue) throws { throw Unsure() }
  static var columnType: ColumnType { .blob }
  var databaseValue: DatabaseValue { get throws { try value.databaseValue } }
}
