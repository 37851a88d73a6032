import Sqlable

// The three tables of the join. Only their columns are used.

struct Author: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let tableLayout = [id.column, name.column]

  init(row: ReadRow) throws {}
}

struct Book: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let authorId = column("author_id", Int.self)
  static let title = column("title", String.self)
  static let pages = column("pages", Int.self)
  static let tableLayout = [id.column, authorId.column, title.column, pages.column]

  init(row: ReadRow) throws {}
}

struct LoanRow: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let bookId = column("book_id", Int.self)
  static let memberId = column("member_id", Int.self)
  static let tableName = "loan"
  static let tableLayout = [id.column, bookId.column, memberId.column]

  init(row: ReadRow) throws {}
}
