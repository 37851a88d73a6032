import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Author: SqlCodable {
  var id: Int?
  var name: String
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let tableLayout = [id.column, name.column]
}

private struct Book: SqlCodable {
  var id: Int?
  var title: String
  var authorId: Int
  static let id = column("id", Int.self, PrimaryKey())
  static let title = column("title", String.self)
  static let authorId = column("author_id", Int.self, ForeignKey<Author>())
  static let tableLayout = [id.column, title.column, authorId.column]
}

extension Author {
  static let books = toMany(Book.self, by: Book.authorId)
}

/// The examples of README.md.
@Suite struct ReadmeGuide {
  @Test func shortTourStoresAndFindsBooks() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/library.sqlite"
      let schema = Schema(Author.self, Book.self)
      let migrations = Migrations(
        [Migration("titles", sql: "UPDATE book SET title = trim(title)")], fresh: schema)
      // runs each migration once in this file, and throws every difference between the models and the file
      let pool = try await SqlitePool(filepath: path, schema: schema, migrations: migrations)
      let status = try await migrations.status(pool)
      #expect(status == .current)

      let author = try await Author(name: "Ursula K. Le Guin").insert().run(pool)
      try await Book(title: "The Dispossessed", authorId: author).insert().run(pool)
      let found = Book.read().filter(Book.authorId == author && Book.title.like("The%")).orderBy(Book.title)
      print(found.sql)
      for book in try await found.run(pool) { print(book.title) }  // The Dispossessed
      #expect(try await found.run(pool).map(\.title) == ["The Dispossessed"])
      #expect(
        found.sql
          == #"SELECT "id", "title", "author_id" FROM "book" WHERE "author_id" = ? AND "title" LIKE ? ORDER BY "title""#
      )

      let shelves = Author.read().including(Author.books.orderBy(Book.title))
      for (author, books) in try await shelves.run(pool) { print(author.name, books.map(\.title)) }
      let (writer, books) = try #require(try await shelves.first().run(pool))
      #expect(writer.name == "Ursula K. Le Guin")
      #expect(books.map(\.title) == ["The Dispossessed"])

      var counts: [Int] = []
      let second = Task { try await Book(title: "The Word for World", authorId: author).insert().run(pool) }
      for try await books in Book.read().filter(Book.authorId == author).updates(in: pool) {
        print(books.count)  // at once, and again after each commit that may change the result
        counts.append(books.count)  // not shown
        if books.count == 2 { break }  // not shown
      }
      try await pool.close(within: .seconds(5))
      #expect(try await second.value == 2)
      #expect(counts.last == 2)
      #expect(!pool.isOpen)
    }
  }
}
