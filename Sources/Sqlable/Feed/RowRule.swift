/// What tells of a changed row that it does not concern a live result.
struct RowRule: Sendable {
  /// The filter, where it decides about each row by itself.
  var filter: RowFilter?
  /// The order of a page, where rows behind its end are not in it.
  var page: PageOrder?

  /// Whether changed rows are wanted with their values.
  var decidesByRow: Bool { filter != nil || page != nil }
}

/// What is noted of a result while its rows are read.
struct ResultNotes {
  /// The bytes, where results are compared.
  private(set) var contents: ResultContents?
  private(set) var pageEnd: PageEnd?
  private let page: PageOrder?
  private var count = 0

  init(comparing: Bool, _ page: PageOrder?) {
    contents = comparing ? ResultContents() : nil
    self.page = page
  }

  /// Takes note of the row that a statement stands on.
  mutating func add(_ statement: PreparedStatement) {
    contents?.add(statement)
    guard let page else { return }
    count += 1
    guard count == page.limit else { return }
    let row = ReadRow(statement)
    pageEnd = (try? page.terms.map { try row.databaseValue(at: $0.resultPlace) }).map { PageEnd(page, $0) }
  }
}
