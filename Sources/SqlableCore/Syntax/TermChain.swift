/// The terms of an AND or OR, in their order.
///
/// A term is appended without a copy of those before it: `condition = condition && next` in a loop would take quadratic
/// time otherwise.
package struct TermChain: RandomAccessCollection, Sendable {
  private enum Form: Sendable {
    case few([SqlExpression])
    /// The first terms of a storage that longer chains may share.
    case many(Storage, Int)
  }

  private let form: Form

  package init(_ terms: [SqlExpression]) {
    form = terms.count <= TermChain.maximumFew ? .few(terms) : .many(Storage(terms), terms.count)
  }

  private init(_ form: Form) { self.form = form }

  package var startIndex: Int { 0 }

  package var endIndex: Int {
    switch form {
    case .few(let terms): terms.count
    case .many(_, let count): count
    }
  }

  package subscript(position: Int) -> SqlExpression {
    switch form {
    case .few(let terms): terms[position]
    case .many(let storage, _): storage[position].term
    }
  }

  func appending(_ terms: some Collection<SqlExpression>) -> TermChain {
    terms.reduce(self) { $0.appending($1) }
  }

  func appending(_ term: SqlExpression) -> TermChain {
    switch form {
    case .few(let terms): return TermChain(terms + [term])
    case .many(let storage, let count):
      let slot = Slot(term, after: storage[count - 1], count: count)
      if storage.append(slot, at: count) { return TermChain(.many(storage, count + 1)) }
      let copy = Storage(storage, count: count)
      _ = copy.append(slot, at: count)
      return TermChain(.many(copy, count + 1))
    }
  }

  /// The size of the term that it is.
  var size: SqlExpression.Size {
    var last: Slot?
    switch form {
    case .few(let terms): for (count, term) in terms.enumerated() { last = Slot(term, after: last, count: count) }
    case .many(let storage, let count): last = storage[count - 1]
    }
    guard let last else { return SqlExpression.Size(depth: 1, height: 0) }
    return SqlExpression.Size(depth: last.depth + 1, height: last.height)
  }

  /// Up to this many terms an array is faster.
  private static let maximumFew = 16
}

extension TermChain {
  /// A term, with the size of the chain up to it.
  private struct Slot {
    let term: SqlExpression
    /// The depth of the deepest term.
    let depth: Int16
    /// The heights of what is not yet a complete part, from the terms up: 0 if there is nothing.
    private let heights: SIMD4<Int16>

    init(_ term: SqlExpression, after last: Slot?, count: Int) {
      self.term = term
      depth = Swift.max(last?.depth ?? 0, term.size.depth)
      var heights = last?.heights ?? .zero
      // The terms that were complete with the one before become one operand of the level above.
      var size = SqlExpression.maximumChain
      for level in 0..<SqlExpression.chainLevels where count > 0 && count.isMultiple(of: size) {
        heights[level + 1] = Slot.height(heights[level + 1], heights[level])
        heights[level] = 0
        size *= SqlExpression.maximumChain
      }
      heights[0] = Slot.height(heights[0], term.size.height)
      self.heights = heights
    }

    var height: Int16 {
      (1...SqlExpression.chainLevels).reduce(heights[0]) { Slot.height(heights[$1], $0) }
    }

    /// The height of `left AND right`, in which either may be missing.
    private static func height(_ left: Int16, _ right: Int16) -> Int16 {
      if left == 0 || right == 0 { return Swift.max(left, right) }
      return Swift.max(left, right) &+ 1
    }
  }

  /// Terms of a chain, and of those made from it by appending to it.
  ///
  /// Sound as `Sendable`:
  /// 1. A slot is initialized once, by the thread that raises `used` over it with the lock held, and never changes.
  /// 2. A chain reads only slots that were initialized before the chain was made.
  private final class Storage: @unchecked Sendable {
    private let slots: UnsafeMutablePointer<Slot>
    private let capacity: Int
    private let used: LockedValue<Int>

    init(_ terms: [SqlExpression]) {
      capacity = terms.count * 2
      slots = .allocate(capacity: capacity)
      for (index, term) in terms.enumerated() {
        (slots + index).initialize(to: Slot(term, after: index > 0 ? slots[index - 1] : nil, count: index))
      }
      used = LockedValue(terms.count)
    }

    /// A copy of the first slots of another one, with room for more.
    init(_ other: Storage, count: Int) {
      capacity = count * 2
      slots = .allocate(capacity: capacity)
      slots.initialize(from: other.slots, count: count)
      used = LockedValue(count)
    }

    deinit {
      slots.deinitialize(count: used.withLock { $0 })
      slots.deallocate()
    }

    subscript(index: Int) -> Slot { slots[index] }

    /// Returns false if another chain has the place, or there is no room.
    func append(_ slot: Slot, at index: Int) -> Bool {
      used.withLock { used in
        guard used == index, index < capacity else { return false }
        (slots + index).initialize(to: slot)
        used += 1
        return true
      }
    }
  }
}
