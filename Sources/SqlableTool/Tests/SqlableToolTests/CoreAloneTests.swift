import Foundation
import Testing

/// Tests of a program that imports only `SqlableCore`. Only the tests of this package can compile programs.
@Suite(.enabled(if: SwiftCompiler.isAvailable, "there is no compiler, or no built library"))
struct CoreAloneTests {
  @Test func coreAloneHasModelsStatementsTransactionsAndObservers() throws {
    let main = """
      import SqlableCore

      struct Visit: Sqlable {
        var id: Int?
        var page: String

        static let id = column("id", Int?.self, PrimaryKey())
        static let page = column("page", String.self)
        static let tableLayout = [id.column, page.column]

        init(page: String) { self.page = page }

        init(row: ReadRow) throws {
          id = try row.get(Visit.id)
          page = try row.get(Visit.page)
        }

        func write(to row: inout RowWriter) throws {
          row.set(Visit.id, id)
          row.set(Visit.page, page)
        }
      }

      let db = try SqliteDatabase.inMemory()
      try db.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, page TEXT NOT NULL)")
      db.observe(.insert, on: Visit.self) { id in print("inserted", id) }
      try db.transaction { db in
        try Visit(page: "/home").insert().run(db)
        try Visit(page: "/help").insert().run(db)
      }
      db.queue.sync {}
      try Visit.update(Visit.page.set(to: "/faq")).filter(Visit.page == "/help").run(db)
      print(try Visit.read().filter(Visit.page == "/faq").run(db).map(\\.page), try Visit.count().run(db))
      print(try db.query("SELECT count(*) FROM visit", as: Int.self))
      for (id, page) in try Visit.select(Visit.id, Visit.page).orderBy(Visit.id).run(db) { print(id ?? 0, page) }
      """
    try withDirectory { directory in
      let output = try SwiftCompiler.run([("main", main)], [], in: directory)
      #expect(output == "inserted 1\ninserted 2\n[\"/faq\"] 2\n[2]\n1 /home\n2 /faq\n")
    }
  }
}
