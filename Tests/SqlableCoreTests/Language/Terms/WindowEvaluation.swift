import SqlableCore

@testable import SqlableTestSupport

/// An evaluator of window functions in plain Swift.
struct WindowEvaluation {
  let window: WindowCase
  let rows: [Reading]

  /// Returns the value of every row, by id.
  func values() -> [Int: DatabaseValue] {
    var values: [Int: DatabaseValue] = [:]
    let partitions = Dictionary(grouping: rows) { row in window.partition.map { row.storage($0) } }
    for rows in partitions.values {
      let partition = Partition(rows: rows, order: window.order)
      for index in partition.rows.indices { values[partition.rows[index].id] = value(partition, index) }
    }
    return values
  }

  private func value(_ partition: Partition, _ index: Int) -> DatabaseValue {
    let (rows, groups) = (partition.rows, partition.groups)
    let first = groups.firstIndex(of: groups[index]) ?? index
    let last = groups.lastIndex(of: groups[index]) ?? index
    func amount(at index: Int) -> DatabaseValue {
      rows.indices.contains(index) ? stored(rows[index].amount) : .null
    }
    switch window.function {
    case .rowNumber: return .integer(Int64(index + 1))
    case .rank: return .integer(Int64(first + 1))
    case .denseRank: return .integer(Int64(groups[index] + 1))
    case .percentRank: return .real(rows.count == 1 ? 0 : Double(first) / Double(rows.count - 1))
    case .cumulativeDistribution: return .real(Double(last + 1) / Double(rows.count))
    case .ntile(let count):
      // If the rows don't divide evenly, the first parts have one row more.
      let (size, rest) = (rows.count / count, rows.count % count)
      let large = rest * (size + 1)
      return .integer(Int64(index < large ? index / (size + 1) + 1 : rest + (index - large) / max(size, 1) + 1))
    case .lag(let count): return amount(at: index - count)
    case .lead(let count): return amount(at: index + count)
    default: break
    }
    let frame = partition.frame(of: index, window.frame).map { rows[$0] }
    switch window.function {
    case .firstValue: return frame.first.map { stored($0.amount) } ?? .null
    case .lastValue: return frame.last.map { stored($0.amount) } ?? .null
    default: return aggregate(frame)
    }
  }

  private func aggregate(_ frame: [Reading]) -> DatabaseValue {
    let taken = frame.filter { row in window.least.map { (row.amount ?? .min) > $0 } ?? true }
    let amounts = taken.compactMap(\.amount)
    let sum = amounts.reduce(0, +)
    switch window.function {
    case .countAll: return .integer(Int64(taken.count))
    case .count: return .integer(Int64(amounts.count))
    case .sum: return stored(amounts.isEmpty ? nil : sum)
    case .total: return .real(Double(sum))
    case .average: return amounts.isEmpty ? .null : .real(Double(sum) / Double(amounts.count))
    case .min: return stored(amounts.min())
    case .max: return stored(amounts.max())
    default:
      let texts = taken.compactMap(\.other)
      return texts.isEmpty ? .null : .text(texts.joined(separator: "-"))
    }
  }

  private func stored(_ amount: Int?) -> DatabaseValue { amount.map { .integer(Int64($0)) } ?? .null }
}

/// The rows of one partition in their order.
private struct Partition {
  let rows: [Reading]
  /// The number of each row's group of peers, from 0.
  let groups: [Int]
  private let order: [WindowCase.Order]

  init(rows: [Reading], order: [WindowCase.Order]) {
    self.order = order
    let sorted = rows.sorted { left, right in
      for term in order {
        let (left, right) = (left.storage(term.term), right.storage(term.term))
        if (left == .null) != (right == .null) { return (left == .null) == term.isNullFirst }
        let result = Partition.order(left, right)
        if result != 0 { return (result < 0) != term.isDescending }
      }
      return left.id < right.id
    }
    var groups: [Int] = []
    for (index, row) in sorted.enumerated() {
      let isSame = index > 0 && order.allSatisfy { sorted[index - 1].storage($0.term) == row.storage($0.term) }
      groups.append(index == 0 ? 0 : isSame ? groups[index - 1] : groups[index - 1] + 1)
    }
    (self.rows, self.groups) = (sorted, groups)
  }

  /// Returns a number below, equal to or above zero. Texts are compared by bytes.
  private static func order(_ left: DatabaseValue, _ right: DatabaseValue) -> Int {
    switch (left, right) {
    case (.integer(let a), .integer(let b)): a < b ? -1 : a > b ? 1 : 0
    case (.real(let a), .real(let b)): a < b ? -1 : a > b ? 1 : 0
    case (.text(let a), .text(let b)):
      a == b ? 0 : a.utf8.lexicographicallyPrecedes(b.utf8) ? -1 : 1
    default: 0
    }
  }

  /// Returns the positions of the rows in a row's frame.
  func frame(of index: Int, _ frame: WindowCase.Frame?) -> [Int] {
    // The default frame ends with the current row's peers.
    let frame = frame ?? .init(unit: .range, start: .unboundedPreceding, end: .currentRow)
    let places = rows.indices.map { place($0, frame) }
    let current = places[index]
    return rows.indices.filter { other in
      switch frame.start {
      case .unboundedPreceding: break
      default: guard places[other] >= current + Double(frame.start.distance ?? 0) else { return false }
      }
      switch frame.end {
      case .unboundedFollowing: return true
      default: return places[other] <= current + Double(frame.end.distance ?? 0)
      }
    }
  }

  /// Returns a row's position in the frame's unit.
  private func place(_ index: Int, _ frame: WindowCase.Frame) -> Double {
    switch frame.unit {
    case .rows: return Double(index)
    case .range where frame.measures:
      // NULL is infinitely far away, on the side to which it is sorted, and equal to NULL.
      let direction: Double = order[0].isDescending ? -1 : 1
      switch rows[index].storage(order[0].term) {
      case .integer(let integer): return direction * Double(integer)
      case .real(let real): return direction * real
      default: return order[0].isNullFirst ? -.infinity : .infinity
      }
    case .range, .groups: return Double(groups[index])
    }
  }
}
