package struct FullTextTerm: Sendable, Hashable {
  package enum Form: Sendable, Hashable {
    /// `"id" IN (SELECT "rowid" FROM … WHERE … MATCH ?)`. The alias is the alias of `id`'s table, if any.
    case matches(alias: String?)
    /// `… MATCH ?`, for the full-text table in a `search` query.
    case search
    /// `"rank" MATCH ?`
    case weighting
    /// `"rank"`
    case rank
    case snippet(Column?, tokens: Int)
    case highlight(Column)
  }

  package let form: Form
  package let table: TableInfo

  package init(form: Form, table: TableInfo) {
    (self.form, self.table) = (form, table)
  }

  var isCondition: Bool {
    switch form {
    case .matches, .search, .weighting: true
    case .rank, .snippet, .highlight: false
    }
  }
}
