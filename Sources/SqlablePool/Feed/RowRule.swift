import SqlableCore

/// Decides that a changed row does not concern a live result.
struct RowRule: Sendable {
  /// The filter, if each row alone decides it.
  var filter: RowFilter?
  /// The order of a page, which rows behind its end don't concern.
  var page: PageOrder?

  /// True if changed rows are wanted with their values.
  var decidesByRow: Bool { filter != nil || page != nil }
}

/// The notes on a result, recorded while its rows are read.
package struct LiveQueryNotes {
  /// The bytes of the rows, if results are compared.
  private(set) var contents: LiveQueryContents?
  private(set) var pageEnd: PageBoundary?
  private let page: PageOrder?
  private var count = 0

  init(comparing: Bool, _ page: PageOrder?) {
    contents = comparing ? LiveQueryContents() : nil
    self.page = page
  }

  /// Records the current row of a statement.
  package mutating func add(_ statement: PreparedStatement) {
    contents?.add(statement)
    guard let page else { return }
    count += 1
    guard count == page.limit else { return }
    let row = ReadRow(statement)
    pageEnd = (try? page.terms.map { try row.databaseValue(at: $0.resultPosition) }).map { PageBoundary(page, $0) }
  }
}
