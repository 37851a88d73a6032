import CSQLite3
import Sqlable

extension Suite {
  /// Rows together with those that belong to them.
  var associations: [Workload] {
    let pages = fixture.scaled(400)
    return [
      workload("S11", "pages of 50 books, each with its loans; ratio to raw Swift", operations: pages) {
        try booksWithLoans(pages)
      }
    ]
  }

  private func booksWithLoans(_ count: Int) throws -> [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    let keys = (0..<count).map { ($0 &* 7919) % 4_900 }
    return [
      .init(Name.swift) {
        let books = try raw.prepare(ShelfBook.sql)
        let loans = try raw.prepare(ShelfLoan.sql(of: ShelfBook.perPage))
        defer { for statement in [books, loans] { sqlite3_finalize(statement) } }
        return keys.reduce(0) { $0 &+ RawSwift.booksWithLoans(books, loans, after: $1).digest() }
      },
      .init(Name.sqlable + " including") {
        try keys.reduce(0) { sum, key in
          let rows = try ShelfBook.read().filter(ShelfBook.id > key).orderBy(ShelfBook.id).limit(ShelfBook.perPage)
            .including(ShelfBook.loans.orderBy(ShelfLoan.id)).run(db)
          return sum &+ rows.map { BookWithLoans(book: $0, loans: $1) }.digest()
        }
      },
    ]
  }
}

extension RawSwift {
  /// A page of books, and their loans by a second statement.
  fileprivate static func booksWithLoans(
    _ books: OpaquePointer, _ loans: OpaquePointer, after key: Int
  ) -> [BookWithLoans] {
    var page: [BookWithLoans] = []
    var places: [Int: Int] = [:]
    sqlite3_bind_int64(books, 1, Int64(key))
    while sqlite3_step(books) == SQLITE_ROW {
      let book = ShelfBook(
        id: Int(sqlite3_column_int64(books, 0)), title: text(books, 1), pages: Int(sqlite3_column_int64(books, 2)))
      places[book.id] = page.count
      page.append(BookWithLoans(book: book, loans: []))
      sqlite3_bind_int64(loans, Int32(page.count), Int64(book.id))
    }
    sqlite3_reset(books)
    while sqlite3_step(loans) == SQLITE_ROW {
      let loan = ShelfLoan(
        id: Int(sqlite3_column_int64(loans, 0)), bookId: Int(sqlite3_column_int64(loans, 1)),
        memberId: Int(sqlite3_column_int64(loans, 2)))
      if let place = places[loan.bookId] { page[place].loans.append(loan) }
    }
    sqlite3_reset(loans)
    return page
  }
}
