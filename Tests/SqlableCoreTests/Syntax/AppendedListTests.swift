import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

@Suite struct AppendedListTests {
  /// The earlier list lives while the next is made, as in `query = query.unionAll(next)` on a property.
  @Test func appendingCopiesTheElementsOnlyWhenTheirNumberDoubles() {
    var storages: Set<ObjectIdentifier> = []
    var lists: [AppendedList<Int>] = [[]]
    for number in 0..<10_000 {
      var next = lists[number]
      next.append(number)
      lists.append(next)
      if let storage = next.storage { storages.insert(ObjectIdentifier(storage)) }
    }
    #expect(storages.count < 20)
    for count in [0, 1, 2, 999, 10_000] { #expect(Array(lists[count]) == Array(0..<count)) }
  }

  @Test func aListThatWasAppendedToTwiceKeepsBothContents() {
    let first: AppendedList<Int> = [1, 2]
    var (left, right) = (first, first)
    left.append(3)
    right.append(4)
    right += [5, 6]
    #expect(Array(first) == [1, 2])
    #expect(Array(left) == [1, 2, 3])
    #expect(Array(right) == [1, 2, 4, 5, 6])
    #expect(left != right)
    #expect(left == [1, 2, 3])
    #expect(left.hashValue == AppendedList([1, 2, 3]).hashValue)
  }

  @Test func combinedQueriesOfOneStartDoNotMix() throws {
    try withDatabase { db in
      let start = (2...20).reduce(Worker.select(SqlExpression(1))) { $0.unionAll(Worker.select(SqlExpression($1))) }
      let (left, right) = (
        start.unionAll(Worker.select(SqlExpression(100))), start.unionAll(Worker.select(SqlExpression(200)))
      )
      #expect(left != right)
      #expect(left.bindings.last == .integer(100))
      #expect(right.bindings.last == .integer(200))
      #expect(start.bindings.count == 20)
    }
  }
}
