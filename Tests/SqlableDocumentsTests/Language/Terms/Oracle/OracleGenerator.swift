import Foundation
import SqlableCore

@testable import SqlableTestSupport

/// A generator of random values, rows and expressions. The columns are id, i (INTEGER), r (REAL), t (TEXT), n (TEXT
/// NOCASE) and b (any).
struct OracleGenerator {
  var random: SeededGenerator

  static let columns = [
    OracleColumn(affinity: .numeric, collation: .binary), OracleColumn(affinity: .numeric, collation: .binary),
    OracleColumn(affinity: .numeric, collation: .binary), OracleColumn(affinity: .text, collation: .binary),
    OracleColumn(affinity: .text, collation: .nocase), OracleColumn(affinity: .blob, collation: .binary),
  ]

  static let texts = [
    "", "a", "A", "abc", "ABC", "aBc ", "abc  ", "it's", "\"q\"", "ä", "Ä", "ß", "日本", "😀 x", "%", "_", "100%", "a_c",
    "12", " 7 ", "-3", "1.5", "12abc", "1e2", "0", "a\0b", "a\0c", "\\", "'; DROP TABLE x; --", "?", "x'00'", "nULL",
  ]
  private static let integers: [Int64] = [
    0, 1, -1, 2, 3, 7, 12, 100, -3, .max, .min, .max - 1, .min + 1, 1 << 53, (1 << 53) + 1, 1 << 32,
  ]
  private static let reals = [0, 1, -1, 0.5, -2.5, 1.5, 3, 7, 12, 100, 9_007_199_254_740_992, 0x1p63, -0x1p63, 1e300]
  private static let patterns = [
    "%", "_", "a%", "%b%", "A_c", "%c", "", "__", "100!%", "!%", "!_", "a!_c", "%!%", "it's", "ä", "_b_%", "%%c%", "!!",
    "12%",
  ]

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  // MARK: Values

  mutating func integer() -> OracleValue {
    .integer(random.chance(70) ? .random(in: -5...12, using: &random) : random.pick(Self.integers))
  }
  mutating func real() -> OracleValue {
    .real(random.chance(50) ? Double(Int.random(in: -20...40, using: &random)) / 4 : random.pick(Self.reals))
  }
  mutating func text() -> OracleValue { .text(random.pick(Self.texts)) }
  mutating func blob() -> OracleValue {
    .blob(Array(repeating: random.pick([0, 65, 255]), count: random.pick([0, 1, 3])))
  }
  mutating func number() -> OracleValue { random.chance(70) ? integer() : real() }

  mutating func value() -> OracleValue {
    switch Int.random(in: 0..<10, using: &random) {
    case 0...3: integer()
    case 4...5: real()
    case 6...8: text()
    default: blob()
    }
  }

  /// Returns a value that the library accepts in a comparison with the term.
  mutating func value(comparedWith term: OracleTerm) -> OracleValue {
    if random.chance(6) { return .null }
    var term = term
    while case .collate(let inner, _) = term { term = inner }
    switch term {
    case .column(0...2): return number()
    case .column(3...4): return text()
    case .column: return blob()
    case .arithmetic, .negative, .function(.length, _), .function(.abs, _):
      return random.chance(85) ? number() : value()
    case .concatenated, .function: return random.chance(85) ? text() : value()
    default: return random.chance(60) ? .integer(random.chance(50) ? 1 : 0) : value()
    }
  }

  mutating func row(id: Int64) -> [OracleValue] {
    let some = random.chance(50) ? value() : number()
    return [
      .integer(id), random.chance(20) ? .null : integer(), random.chance(20) ? .null : real(),
      random.chance(20) ? .null : text(), random.chance(20) ? .null : text(), random.chance(20) ? .null : some,
    ]
  }

  // MARK: Expressions

  mutating func column() -> OracleTerm { .column(.random(in: 0..<Self.columns.count, using: &random)) }

  mutating func condition(_ depth: Int) -> OracleTerm {
    if depth <= 0 { return random.chance(80) ? comparison(0) : simpleCondition(0) }
    switch Int.random(in: 0..<20, using: &random) {
    case 0...2: return .both(conditions(depth))
    case 3...5: return .either(conditions(depth))
    case 6: return .all(random.chance(20) ? [] : conditions(depth))
    case 7: return .any(random.chance(20) ? [] : conditions(depth))
    case 8...9: return .not(condition(depth - 1))
    case 10...13: return comparison(depth)
    case 14: return any(depth)
    default: return simpleCondition(depth)
    }
  }

  private mutating func conditions(_ depth: Int) -> [OracleTerm] {
    (0..<random.pick([2, 2, 3, 4])).map { _ in condition(depth - 1) }
  }

  private mutating func comparison(_ depth: Int) -> OracleTerm {
    let left = any(depth - 1)
    return .compare(random.pick(OracleTerm.Comparison.allCases), left, operand(for: left, depth))
  }

  private mutating func operand(for left: OracleTerm, _ depth: Int) -> OracleTerm.Operand {
    random.chance(60) ? .value(value(comparedWith: left)) : .term(any(depth - 1))
  }

  private mutating func simpleCondition(_ depth: Int) -> OracleTerm {
    let term = any(depth - 1)
    switch Int.random(in: 0..<9, using: &random) {
    case 0: return .isNull(term)
    case 1: return .isNotNull(term)
    case 2: return .between(term, value(comparedWith: term), value(comparedWith: term))
    case 3, 4, 5:
      let count = random.pick([0, 1, 2, 3, 5, 8, 9, 32, 33, 40, 45])
      let list = (0..<count).map { _ in value(comparedWith: term) }
      // Otherwise nearly every long list would contain NULL.
      return .isIn(term, random.chance(60) ? list.filter { !$0.isNull } : list, negated: random.chance(40))
    case 6: return .same(term, value(comparedWith: term), negated: random.chance(50))
    default:
      return .like(
        text(depth), random.pick(Self.patterns), escape: random.chance(40) ? random.pick(["!", "%", "_", "ä"]) : nil)
    }
  }

  mutating func any(_ depth: Int) -> OracleTerm {
    if depth <= 0 { return column() }
    switch Int.random(in: 0..<12, using: &random) {
    case 0...3: return column()
    case 4...6: return number(depth)
    case 7...8: return text(depth)
    case 9: return .collate(any(depth - 1), random.pick(OracleCollation.allCases))
    default: return condition(depth - 1)
    }
  }

  private mutating func number(_ depth: Int) -> OracleTerm {
    if depth <= 0 { return .column(random.pick([0, 1, 1, 2, 5])) }
    switch Int.random(in: 0..<10, using: &random) {
    case 0: return .negative(number(depth - 1))
    case 1: return .function(.length, text(depth - 1))
    case 2: return .function(.abs, number(depth - 1))
    case 3: return any(depth - 1)
    default:
      let right: OracleTerm.Operand =
        random.chance(60) ? .value(random.chance(95) ? number() : .null) : .term(number(depth - 1))
      return .arithmetic(random.pick(["+", "-", "*", "/", "%"]), number(depth - 1), right)
    }
  }

  private mutating func text(_ depth: Int) -> OracleTerm {
    if depth <= 0 { return .column(random.pick([3, 3, 4, 4, 1])) }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return .function(.lower, text(depth - 1))
    case 1: return .function(.upper, text(depth - 1))
    case 2: return .collate(text(depth - 1), random.pick(OracleCollation.allCases))
    case 3...4:
      return .concatenated(text(depth - 1), random.chance(60) ? .value(text()) : .term(text(depth - 1)))
    case 5: return any(depth - 1)
    default: return .column(random.pick([3, 4]))
    }
  }
}
