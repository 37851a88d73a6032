import Sqlable

/// Rows for windows: few different values, so that many are equal, and NULLs in all of them but the id.
struct Reading: Sqlable, Equatable {
  let id: Int
  var part: Int?
  var key: Double?
  var other: String?
  var amount: Int?
  static let id = column("id", Int.self, PrimaryKey())
  static let part = column("part", Int?.self)
  static let key = column("key", Double?.self)
  static let other = column("other", String?.self)
  static let amount = column("amount", Int?.self)
  static let tableLayout = [id.column, part.column, key.column, other.column, amount.column]

  init(id: Int, random: inout SeededGenerator) {
    self.id = id
    part = random.pick([nil, 0, 1])
    key = random.pick([nil, -1.5, 0, 0.5, 1, 2, 2, 4.25])
    // No empty text: SQLite makes NULL of several that are put together in a window and come to nothing.
    other = random.pick([nil, " ", "a", "b", "é", "日本"])
    amount = random.pick([nil, nil, -3, 0, 1, 2, 7])
  }

  init(row: ReadRow) throws {
    id = try row.get(Reading.id)
    part = try row.get(Reading.part)
    key = try row.get(Reading.key)
    other = try row.get(Reading.other)
    amount = try row.get(Reading.amount)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Reading.id, id)
    row.set(Reading.part, part)
    row.set(Reading.key, key)
    row.set(Reading.other, other)
    row.set(Reading.amount, amount)
  }

  /// What is stored in a column that windows order or partition by.
  func storage(_ term: WindowCase.Term) -> DatabaseValue {
    switch term {
    case .id: .integer(Int64(id))
    case .part: part.map { .integer(Int64($0)) } ?? .null
    case .key: key.map { .real($0) } ?? .null
    case .other: other.map { .text($0) } ?? .null
    }
  }
}

/// A window and what is made of it, chosen at random.
struct WindowCase {
  enum Term: CaseIterable { case id, part, key, other }

  struct Order {
    let term: Term
    let isDescending: Bool
    /// Whether NULL comes first, where that is said: it does so upwards only otherwise.
    let saysNullFirst: Bool?

    init(_ term: Term, isDescending: Bool, random: inout SeededGenerator) {
      self.term = term
      self.isDescending = isDescending
      saysNullFirst = random.pick([nil, nil, true, false])
    }

    var isNullFirst: Bool { saysNullFirst ?? !isDescending }
  }

  enum Function: Hashable {
    case rowNumber, rank, denseRank, percentRank, cumulativeDistribution
    case ntile(Int)
    case lag(Int)
    case lead(Int)
    case firstValue, lastValue
    case countAll, count, sum, total, average, min, max, concatenated

    /// Whether the value is the same however equal rows lie.
    var takesTies: Bool {
      switch self {
      case .rank, .denseRank, .percentRank, .cumulativeDistribution: true
      case .countAll, .count, .sum, .total, .average, .min, .max: true
      case .rowNumber, .ntile, .lag, .lead, .firstValue, .lastValue, .concatenated: false
      }
    }

    var isAggregate: Bool {
      switch self {
      case .countAll, .count, .sum, .total, .average, .min, .max, .concatenated: true
      default: false
      }
    }
  }

  enum Unit: CaseIterable { case rows, range, groups }

  struct Frame {
    let unit: Unit
    let start: WindowFrame.Bound
    let end: WindowFrame.Bound

    var frame: WindowFrame {
      switch unit {
      case .rows: .rows(start, end)
      case .range: .range(start, end)
      case .groups: .groups(start, end)
      }
    }
  }

  var function: Function
  var partition: [Term] = []
  var order: [Order] = []
  var frame: Frame?
  /// An aggregate takes rows of an amount above this only.
  var least: Int?

  init(random: inout SeededGenerator) {
    let count = random.pick([0, 1, 2, 3, 5, 40])
    function = random.pick([
      .rowNumber, .rank, .denseRank, .percentRank, .cumulativeDistribution, .ntile(count + 1), .lag(count),
      .lead(count), .firstValue, .lastValue, .countAll, .count, .sum, .total, .average, .min, .max, .concatenated,
    ])
    partition = random.pick([[], [.part], [.part, .other], [.other]])
    if random.chance(70) { frame = WindowCase.frame(&random) }
    let direction = random.chance(50)
    if frame?.measures == true {
      let term = function.takesTies ? random.pick([.key, .part, .id]) : Term.id
      order = [Order(term, isDescending: direction, random: &random)]
    } else {
      for term in random.pick([[], [.key], [.other], [.part, .key], [.other, .part]]) as [Term] {
        order.append(Order(term, isDescending: random.chance(50), random: &random))
      }
      // Rows that are equal by all terms lie in no order.
      if !function.takesTies || frame?.unit == .rows {
        order.append(Order(.id, isDescending: direction, random: &random))
      }
    }
    if function.isAggregate, random.chance(30) { least = random.pick([-5, 0, 1, 100]) }
  }

  private static func frame(_ random: inout SeededGenerator) -> Frame {
    let numbers = [0, 1, 2, 3, 100]
    let start: [WindowFrame.Bound] = [
      .unboundedPreceding, .preceding(random.pick(numbers)), .currentRow, .following(random.pick(numbers)),
    ]
    let place = random.pick([0, 0, 1, 1, 2, 3])
    // A frame that ends before it begins may do so by its numbers only.
    let ends: [WindowFrame.Bound] = [
      .preceding(random.pick(numbers)), .currentRow, .following(random.pick(numbers)), .unboundedFollowing,
    ]
    let end = random.pick(Array(ends[Swift.max(0, place - 1)...]))
    return Frame(unit: random.pick(Unit.allCases), start: start[place], end: end)
  }
}

extension WindowCase.Frame {
  /// Whether an end is so far away by the value that orders the rows: SQLite wants one such value then.
  var measures: Bool { unit == .range && (start.distance != nil || end.distance != nil) }
}

extension WindowFrame.Bound {
  /// How far a bound lies from the current row, below zero before it.
  var distance: Int? {
    switch self {
    case .preceding(let count): -count
    case .following(let count): count
    default: nil
    }
  }
}
