#if GRDB
import GRDB

extension Peers {
  func booksWithLoans() throws -> [Contender] {
    let queue = try reader()
    let keys = (0..<count).map { ($0 &* 7919) % 4_900 }
    func paging<Record: FetchableRecord & Digestible>(_ name: String, _ record: Record.Type) -> Contender {
      Contender(name) {
        try keys.reduce(0) { sum, key in
          try queue.read { db in
            let request = GRDBBook.filter(Column("id") > key).order(Column("id")).limit(ShelfBook.perPage)
              .including(all: GRDBBook.loans.order(Column("id")).forKey("loans"))
            return sum &+ (try request.asRequest(of: record).fetchAll(db).digest())
          }
        }
      }
    }
    return [paging(Name.grdbName, BookByName.self), paging(Name.grdbCodable, BookWithLoans.self)]
  }
}

/// The table of the books, with the columns that a page shows.
private struct GRDBBook: TableRecord {
  static let databaseTableName = "book"
  static let loans = hasMany(ShelfLoan.self, using: ForeignKey(["book_id"]))
  static var databaseSelection: [any SQLSelectable] { [Column("id"), Column("title"), Column("pages")] }
}

extension ShelfLoan: FetchableRecord, TableRecord {
  static var databaseTableName: String { "loan" }
}

extension BookWithLoans: FetchableRecord, Decodable {
  private enum CodingKeys: CodingKey { case loans }

  init(from decoder: any Decoder) throws {
    book = try ShelfBook(from: decoder)
    loans = try decoder.container(keyedBy: CodingKeys.self).decode([ShelfLoan].self, forKey: .loans)
  }
}

/// A book with its loans, both read by the names of their columns.
private struct BookByName: FetchableRecord, Digestible {
  private struct Loan: FetchableRecord {
    let loan: ShelfLoan

    init(row: Row) { loan = ShelfLoan(id: row["id"], bookId: row["book_id"], memberId: row["member_id"]) }
  }

  let row: BookWithLoans

  init(row: Row) throws {
    let loans: [Loan] = row["loans"]
    self.row = BookWithLoans(
      book: ShelfBook(id: row["id"], title: row["title"], pages: row["pages"]), loans: loans.map(\.loan))
  }

  @inline(__always)
  var digest: UInt64 { row.digest }
}
#endif
