import SqlableCore

/// A random window function with its window.
struct WindowCase {
  enum Term: CaseIterable { case id, part, key, other }

  struct Order {
    let term: Term
    let isDescending: Bool
    /// The explicit position of NULL, or nil. By default NULL comes first only in ascending order.
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

    /// True if the order of peers does not change the value.
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
  /// The bound of an aggregate's filter: only larger amounts count.
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
      // The id orders rows that are equal in all terms.
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
    // SQLite refuses a frame whose end has an earlier kind of bound than its start. Only the distances may be
    // inverted.
    let ends: [WindowFrame.Bound] = [
      .preceding(random.pick(numbers)), .currentRow, .following(random.pick(numbers)), .unboundedFollowing,
    ]
    let end = random.pick(Array(ends[Swift.max(0, place - 1)...]))
    return Frame(unit: random.pick(Unit.allCases), start: start[place], end: end)
  }
}

extension WindowCase.Frame {
  /// True for a RANGE frame with a distance. SQLite then requires exactly one ordering term.
  var measures: Bool { unit == .range && (start.distance != nil || end.distance != nil) }
}

extension WindowFrame.Bound {
  /// The distance from the current row, negative before it.
  var distance: Int? {
    switch self {
    case .preceding(let count): -count
    case .following(let count): count
    default: nil
    }
  }
}
