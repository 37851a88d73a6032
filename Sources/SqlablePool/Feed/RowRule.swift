import SqlableCore

/// A rule that detects changed rows that do not affect a live result.
struct RowRule: Sendable {
  /// The result's filter; nil without a filter, or if checking the filter requires other rows.
  var filter: RowFilter?
  /// The order of a page. Rows after the end of the page do not affect the result.
  var page: PageOrder?

  /// True if the rule needs the values of changed rows.
  var decidesByRow: Bool { filter != nil || page != nil }
}

/// Notes about a live result, recorded while its rows are read.
package struct LiveQueryNotes {
  /// The bytes of the rows, if the results are compared; nil otherwise.
  private(set) var contents: LiveQueryContents?
  private(set) var pageEnd: PageBoundary?
  private let page: PageOrder?
  private var count = 0

  init(comparing: Bool, _ page: PageOrder?) {
    contents = comparing ? LiveQueryContents() : nil
    self.page = page
  }

  package mutating func add(_ statement: PreparedStatement) {
    contents?.add(statement)
    guard let page else { return }
    count += 1
    guard count == page.limit else { return }
    let row = ReadRow(statement)
    pageEnd = (try? page.terms.map { try row.databaseValue(at: $0.resultPosition) }).map { PageBoundary(page, $0) }
  }
}
