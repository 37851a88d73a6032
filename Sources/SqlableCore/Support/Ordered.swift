extension Sequence {
  /// Returns the elements in order, like `sorted(by:)`. The standard library's method is compiled for each type of
  /// elements, to five kilobytes each time. This method sorts positions.
  package func ordered(by precedes: (Element, Element) -> Bool) -> [Element] {
    let elements = Array(self)
    return sortedPositions(elements.count) { precedes(elements[$0], elements[$1]) }.map { elements[$0] }
  }
}

@inline(never)
private func sortedPositions(_ count: Int, _ precedes: (Int, Int) -> Bool) -> [Int] {
  (0..<count).sorted(by: precedes)
}
