extension Sequence {
  /// Returns the elements in order, like `sorted(by:)`. The standard library's method adds five kilobytes of code for
  /// each element type. This method sorts positions, with one function for all element types.
  package func ordered(by precedes: (Element, Element) -> Bool) -> [Element] {
    let elements = Array(self)
    return sortedPositions(elements.count) { precedes(elements[$0], elements[$1]) }.map { elements[$0] }
  }
}

@inline(never)
private func sortedPositions(_ count: Int, _ precedes: (Int, Int) -> Bool) -> [Int] {
  (0..<count).sorted(by: precedes)
}
