import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

/// The rows that a transaction keeps for live results, compared with a plain list.
struct TableChangesTests {
  private func row(_ id: Int, bytes: Int = 10) -> RowImages {
    RowImages(
      columns: ["id", "text"], old: nil, new: [.integer(Int64(id)), .text(String(repeating: "x", count: bytes))],
      isWhole: true, isNewWhole: true)
  }

  /// A savepoint stores the number of rows, not the rows.
  @Test(arguments: [1, 2, 3] as [UInt64]) func goingBackToASavepointDropsLaterRows(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (changes, plain) = (TableChanges(), [RowImages]())
    var savepoints: [(change: TableChanges, imageCount: Int?, plain: [RowImages])] = []
    for id in 0..<2_000 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0: savepoints.append((changes.withoutImages, changes.images?.count, plain))
      case 1...2:
        guard let savepoint = savepoints.popLast() else { break }
        changes.goBack(to: savepoint.change, imageCount: savepoint.imageCount)
        plain = savepoint.plain
      default:
        guard plain.count < TableChanges.maximumImages else { break }
        let row = row(id)
        changes.isMembershipChanged = true
        changes.add { row }
        plain.append(row)
      }
      #expect(changes.images == plain)
      #expect(changes.bytes == 10 * plain.count)
      #expect(changes.isMembershipChanged == !plain.isEmpty)
    }
  }

  @Test func tooManyRowsOrBytesAreNotKept() {
    var changes = TableChanges()
    for id in 0..<TableChanges.maximumImages { changes.add { row(id) } }
    #expect(changes.images?.count == TableChanges.maximumImages)
    changes.add { row(0) }
    #expect(changes.images == nil)
    #expect(changes.bytes == 0)
    var large = TableChanges()
    large.add { row(1, bytes: TableChanges.maximumBytes - 10) }
    #expect(large.images?.count == 1)
    large.add { row(2, bytes: 11) }
    #expect(large.images == nil)
    // The closure for a row that is not kept is never called.
    large.add {
      Issue.record("a row was made in vain")
      return nil
    }
  }
}
