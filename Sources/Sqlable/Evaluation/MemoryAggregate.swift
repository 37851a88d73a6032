/// An aggregate of a query.
struct MemoryAggregate {
  let function: SqlExpression.Call.BuiltIn
  /// Whether it is `count(*)`.
  let countsRows: Bool
  let arguments: [MemoryTerm]
  let isDistinct: Bool
  /// The order in which it takes its rows, and the values that order them.
  let orders: [MemoryOrder]
  let keys: [MemoryTerm]
  let filter: MemoryTerm?

  /// The functions that are evaluated in memory.
  static let functions: Set<SqlExpression.Call.BuiltIn> = [.count, .sum, .total, .avg, .min, .max, .groupConcat]

  var isExtreme: Bool { function == .min || function == .max }
  var collation: MemoryCollation { arguments.first?.collation ?? .binary }
}

/// A group of rows: the row whose columns its results use, and the state of its aggregates.
struct MemoryGroup {
  private(set) var rows: [[MemoryValue]]
  private var states: [MemoryAggregateState]
  private let hasExtreme: Bool

  init(_ aggregates: [MemoryAggregate], _ rows: [[MemoryValue]]) {
    self.rows = rows
    states = aggregates.map { MemoryAggregateState($0) }
    hasExtreme = aggregates.contains(where: \.isExtreme)
  }

  /// Adds the current row. Columns beside a `min` or `max` are those of its row; else they are those of the first row.
  mutating func add(_ frame: MemoryFrame) throws {
    var isHit = false
    for index in states.indices {
      let isNew = try states[index].add(frame)
      if states[index].aggregate.isExtreme { isHit = isNew }
    }
    if hasExtreme, isHit { rows = frame.rows }
  }

  func values() throws -> [MemoryValue] { try states.map { try $0.value() } }
}

/// What an aggregate has computed from the rows so far.
struct MemoryAggregateState {
  let aggregate: MemoryAggregate
  private var seen: Set<MemoryKey> = []
  private var count: Int64 = 0
  private var integer: Int64 = 0
  private var real = 0.0
  private var isReal = false
  private var hasOverflow = false
  private var best = MemoryValue.null
  private var text: [UInt8]?
  /// The rows of an aggregate with an order, which takes them at the end.
  private var rows: [MemoryRow] = []

  init(_ aggregate: MemoryAggregate) { self.aggregate = aggregate }

  /// Adds the current row. Returns whether it has the least or greatest value so far.
  mutating func add(_ frame: MemoryFrame) throws -> Bool {
    if let filter = aggregate.filter, try filter.value(frame).truth != true { return false }
    guard !aggregate.countsRows else {
      count += 1
      return false
    }
    let values = try aggregate.arguments.map { try $0.value(frame) }
    let value = values[0]
    if value.isNull { return false }
    if aggregate.isDistinct, !seen.insert(MemoryKey([value], [aggregate.collation])).inserted { return false }
    count += 1
    if !aggregate.orders.isEmpty {
      rows.append(MemoryRow(values: values, keys: try aggregate.keys.map { try $0.value(frame) }))
      return false
    }
    return add(values)
  }

  private mutating func add(_ values: [MemoryValue]) -> Bool {
    let value = values[0]
    switch aggregate.function {
    case .min, .max:
      let order = MemoryValue.compare(value, best, aggregate.collation)
      guard best.isNull || (aggregate.function == .min ? order < 0 : order > 0) else { return false }
      best = value
      return true
    case .groupConcat:
      // A NULL separator separates nothing.
      let separator = values.count > 1 ? values[1].textBytes ?? [] : [UInt8(ascii: ",")]
      text = (text.map { $0 + separator } ?? []) + (value.textBytes ?? [])
    case .sum, .total, .avg: add(value.numericIfWhole)
    default: break
    }
    return false
  }

  private mutating func add(_ value: MemoryValue) {
    guard case .integer(let number) = value else {
      real += value.realValue
      isReal = true
      return
    }
    real += Double(number)
    if isReal || hasOverflow { return }
    let (sum, overflow) = integer.addingReportingOverflow(number)
    if overflow { (isReal, hasOverflow) = (true, true) } else { integer = sum }
  }

  func value() throws -> MemoryValue {
    guard rows.isEmpty else {
      var ordered = self
      ordered.rows = []
      for row in MemoryOrder.sorted(rows, by: aggregate.orders) { _ = ordered.add(row.values) }
      return try ordered.value()
    }
    switch aggregate.function {
    case .count: return .integer(count)
    case .min, .max: return best
    case .groupConcat: return text.map { .text($0) } ?? .null
    case .total: return MemoryValue(real)
    case .avg: return count == 0 ? .null : MemoryValue(real / Double(count))
    default:
      if count == 0 { return .null }
      if hasOverflow { throw SqlError(.other, message: "integer overflow", code: 1, extendedCode: 1) }
      return isReal ? MemoryValue(real) : .integer(integer)
    }
  }
}
