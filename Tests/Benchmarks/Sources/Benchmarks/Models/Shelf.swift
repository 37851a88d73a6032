import Sqlable

/// A book of the library, with what a page shows of it.
struct ShelfBook: Codable, Digestible {
  var id: Int
  var title: String
  var pages: Int

  static let perPage = 50
  static let sql = "SELECT id, title, pages FROM book WHERE id > ? ORDER BY id LIMIT \(perPage)"

  @inline(__always)
  var digest: UInt64 {
    var digest = Digest()
    digest.add(id)
    digest.add(title)
    digest.add(pages)
    return digest.value
  }
}

extension ShelfBook: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let title = column("title", String.self)
  static let pages = column("pages", Int.self)
  static let tableName = "book"
  static let tableLayout = [id.column, title.column, pages.column]
  static let loans = toMany(ShelfLoan.self, by: ShelfLoan.bookId, of: id)

  init(row: ReadRow) throws {
    id = try row.get(ShelfBook.id)
    title = try row.get(ShelfBook.title)
    pages = try row.get(ShelfBook.pages)
  }
}

/// A loan of a book.
struct ShelfLoan: Codable, Digestible {
  var id: Int
  var bookId: Int
  var memberId: Int

  enum CodingKeys: String, CodingKey {
    case id
    case bookId = "book_id"
    case memberId = "member_id"
  }

  static func sql(of count: Int) -> String {
    let marks = Array(repeating: "?", count: count).joined(separator: ", ")
    return "SELECT id, book_id, member_id FROM loan WHERE book_id IN (\(marks)) ORDER BY id"
  }

  @inline(__always)
  var digest: UInt64 {
    var digest = Digest()
    digest.add(id)
    digest.add(bookId)
    digest.add(memberId)
    return digest.value
  }
}

extension ShelfLoan: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let bookId = column("book_id", Int.self)
  static let memberId = column("member_id", Int.self)
  static let tableName = "loan"
  static let tableLayout = [id.column, bookId.column, memberId.column]

  init(row: ReadRow) throws {
    id = try row.get(ShelfLoan.id)
    bookId = try row.get(ShelfLoan.bookId)
    memberId = try row.get(ShelfLoan.memberId)
  }
}

/// A book with its loans.
struct BookWithLoans: Digestible {
  var book: ShelfBook
  var loans: [ShelfLoan]

  @inline(__always)
  var digest: UInt64 { loans.reduce(book.digest) { $0 &+ $1.digest } }
}
