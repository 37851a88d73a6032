/// The terms of an AND or OR, in order.
///
/// Appending a term does not copy the earlier terms. Otherwise `condition = condition && next` in a loop would take
/// quadratic time.
package struct TermChain: RandomAccessCollection, Sendable {
  private enum Form: Sendable {
    case few([SqlExpression])
    /// The storage, and the number of its first terms that are in this chain. Longer chains can share the storage.
    /// Indirect: both cases then contain one object reference, so that copying a term needs less code.
    indirect case many(AppendOnlyStorage<Slot>, Int)
  }

  private let form: Form

  package init(_ terms: [SqlExpression]) {
    form = terms.count <= TermChain.maximumFew ? .few(terms) : .many(TermChain.storage(terms), terms.count)
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
    case .few(let terms):
      var longer = terms
      longer.reserveCapacity(terms.count + 1)
      longer.append(term)
      return TermChain(longer)
    case .many(let storage, let count):
      let slot = Slot(term, after: storage[count - 1], count: count)
      return TermChain(.many(storage.appending(slot, at: count), count + 1))
    }
  }

  var size: SqlExpression.Size {
    switch form {
    case .few(let terms):
      // The chain adds one level to the depth. For the height, each term after the first adds a level, because it adds
      // an operator.
      var size = SqlExpression.Size(depth: 0, height: 0)
      for index in terms.indices {
        let next = terms[index].size
        size.depth = Swift.max(size.depth, next.depth)
        size.height = index == 0 ? next.height : Swift.max(size.height, next.height) + 1
      }
      size.depth += 1
      return size
    case .many(let storage, let count):
      let last = storage[count - 1]
      return SqlExpression.Size(depth: last.depth + 1, height: last.height)
    }
  }

  /// Unlike `allSatisfy`, does not copy the terms of a short chain.
  @inline(__always)
  func everyTerm(_ predicate: (borrowing Borrowed<SqlExpression>) -> Bool) -> Bool {
    switch form {
    case .few(let terms):
      terms.withUnsafeBufferPointer { terms in
        terms.withMemoryRebound(to: Borrowed<SqlExpression>.self) { terms in
          terms.indices.allSatisfy { predicate(terms[$0]) }
        }
      }
    case .many(let storage, let count): (0..<count).allSatisfy { predicate(Borrowed(value: storage[$0].term)) }
    }
  }

  private static func storage(_ terms: [SqlExpression]) -> AppendOnlyStorage<Slot> {
    var last: Slot?
    return AppendOnlyStorage(
      terms.enumerated().map { index, term in
        let slot = Slot(term, after: last, count: index)
        last = slot
        return slot
      })
  }

  private static let maximumFew = 16
}

extension TermChain {
  /// A term, with the size of the chain from the first term to this term.
  private struct Slot: Sendable {
    let term: SqlExpression
    let depth: Int16
    /// The heights of the incomplete parts, one for each level; 0 for an empty part. A part of level 0 consists of
    /// terms. A part of level 1 consists of complete parts of level 0, and so on.
    private let heights: SIMD4<Int16>

    init(_ term: SqlExpression, after last: Slot?, count: Int) {
      self.term = term
      depth = Swift.max(last?.depth ?? 0, term.size.depth)
      var heights = last?.heights ?? .zero
      // A part with `maximumChain` operands is complete. A complete part becomes one operand of a part on the next
      // level.
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

    /// Returns the height of `left AND right`. A height of 0 stands for a missing operand.
    private static func height(_ left: Int16, _ right: Int16) -> Int16 {
      if left == 0 || right == 0 { return Swift.max(left, right) }
      return Swift.max(left, right) &+ 1
    }
  }
}
