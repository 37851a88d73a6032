import Sqlable

extension Suite {
  /// Queries in each of their forms; ratios to the same SQL, prepared by hand through the library.
  var queryForms: [Workload] {
    let small = fixture.scaled(20_000)
    let joins = fixture.scaled(2_000)
    return [
      workload("Q1", "one row of a join of two tables by key", operations: small) { try oneRow(small) },
      workload("Q2", "aggregates over a join, 20 rows each", operations: joins) { try aggregates(joins) },
      workload("Q3", "joins of three tables, 20 rows each", operations: joins) { try threeTables(joins) },
      workload("Q4", "rows with a condition on a subquery, one group each", operations: joins) {
        try subqueries(joins)
      },
    ]
  }

  private func keys(_ count: Int) -> [Int] { (0..<count).map { ($0 &* 7919) % fixture.members } }

  private func oneRow(_ count: Int) throws -> [Workload.Contender] {
    let (db, keys) = (fixture.db, keys(count))
    func digest(_ rows: [(String, String, Int)]) -> UInt64 {
      rows.reduce(0) { $0 &+ UInt64($1.0.utf8.count + $1.1.utf8.count + $1.2) }
    }
    let typed = Book.read().joining(Author.self, on: Author.id == Book.authorId)
      .select(Book.title, Author.name, Book.pages)
    return [
      .init(Name.preparedSQL) {
        let query = try db.prepare(
          """
          SELECT book.title, author.name, book.pages FROM book JOIN author ON author.id = book.author_id \
          WHERE book.id = \(Parameter<Int>("id"))
          """, as: String.self, String.self, Int.self)
        return try keys.reduce(0) { $0 &+ digest(try query.run($1)) }
      },
      .init(Name.sqlable + " query") {
        try keys.reduce(0) { sum, key in
          sum
            &+ digest(
              try db.query(
                """
                SELECT book.title, author.name, book.pages FROM book JOIN author ON author.id = book.author_id \
                WHERE book.id = \(key)
                """, as: String.self, String.self, Int.self))
        }
      },
      .init(Name.typed) {
        try keys.reduce(0) { sum, key in
          let rows = try Book.read().joining(Author.self, on: Author.id == Book.authorId).filter(Book.id == key)
            .select(Book.title, Author.name, Book.pages).run(db)
          return sum &+ digest(rows)
        }
      },
      .init(Name.prepared) {
        let query = try db.prepare(typed.filter(Book.id == Parameter("id")))
        return try keys.reduce(0) { $0 &+ digest(try query.run($1)) }
      },
    ]
  }

  private func aggregates(_ count: Int) throws -> [Workload.Contender] {
    let (db, keys) = (fixture.db, keys(count))
    func digest(_ rows: [(Int, Int?)]) -> UInt64 { rows.reduce(0) { $0 &+ UInt64($1.0 + ($1.1 ?? 0)) } }
    return [
      .init(Name.preparedSQL) {
        let query = try db.prepare(
          """
          SELECT count(*), max(book.pages) FROM loan JOIN book ON book.id = loan.book_id \
          WHERE loan.member_id = \(Parameter<Int>("member"))
          """, as: Int.self, Int?.self)
        return try keys.reduce(0) { $0 &+ digest(try query.run($1)) }
      },
      .init(Name.typed) {
        try keys.reduce(0) { sum, key in
          let rows = try LoanRow.read().joining(Book.self, on: Book.id == LoanRow.bookId)
            .filter(LoanRow.memberId == key).select(countAll(), Book.pages.max()).run(db)
          return sum &+ digest(rows)
        }
      },
      .init(Name.prepared) {
        let query = try db.prepare(
          LoanRow.read().joining(Book.self, on: Book.id == LoanRow.bookId)
            .filter(LoanRow.memberId == Parameter("member")).select(countAll(), Book.pages.max()))
        return try keys.reduce(0) { $0 &+ digest(try query.run($1)) }
      },
    ]
  }

  private func threeTables(_ count: Int) throws -> [Workload.Contender] {
    let (db, keys) = (fixture.db, keys(count))
    func digest(_ rows: [(Int, String, String, Int)]) -> UInt64 {
      rows.map { Loan(id: $0.0, title: $0.1, author: $0.2, pages: $0.3) }.digest()
    }
    return [
      .init(Name.preparedSQL) {
        let query = try db.prepare(
          """
          SELECT loan.id, book.title, author.name, book.pages FROM loan JOIN book ON book.id = loan.book_id \
          JOIN author ON author.id = book.author_id WHERE loan.member_id = \(Parameter<Int>("member")) ORDER BY loan.id
          """, as: Int.self, String.self, String.self, Int.self)
        return try keys.reduce(0) { $0 &+ digest(try query.run($1)) }
      },
      .init(Name.typed) {
        try keys.reduce(0) { sum, key in
          let rows = try LoanRow.read().joining(Book.self, on: Book.id == LoanRow.bookId)
            .joining(Author.self, on: Author.id == Book.authorId).filter(LoanRow.memberId == key)
            .orderBy(LoanRow.id).select(LoanRow.id, Book.title, Author.name, Book.pages).run(db)
          return sum &+ digest(rows)
        }
      },
      .init(Name.prepared) {
        let query = try db.prepare(
          LoanRow.read().joining(Book.self, on: Book.id == LoanRow.bookId)
            .joining(Author.self, on: Author.id == Book.authorId).filter(LoanRow.memberId == Parameter("member"))
            .orderBy(LoanRow.id).select(LoanRow.id, Book.title, Author.name, Book.pages))
        return try keys.reduce(0) { $0 &+ digest(try query.run($1)) }
      },
    ]
  }

  private func subqueries(_ count: Int) throws -> [Workload.Contender] {
    let (db, keys) = (fixture.db, keys(count))
    func digest(_ rows: [(String, Int)]) -> UInt64 { rows.reduce(0) { $0 &+ UInt64($1.0.utf8.count + $1.1) } }
    return [
      .init(Name.preparedSQL) {
        let query = try db.prepare(
          """
          SELECT title, pages FROM book WHERE id IN (SELECT book_id FROM loan \
          WHERE member_id = \(Parameter<Int>("member"))) AND pages > \(Parameter<Int>("least")) ORDER BY id
          """, as: String.self, Int.self)
        return try keys.reduce(0) { $0 &+ digest(try query.run($1, 100)) }
      },
      .init(Name.typed) {
        try keys.reduce(0) { sum, key in
          let loans = LoanRow.select(LoanRow.bookId).filter(LoanRow.memberId == key)
          let rows = try Book.select(Book.title, Book.pages).filter(Book.id.in(loans) && Book.pages > 100)
            .orderBy(Book.id).run(db)
          return sum &+ digest(rows)
        }
      },
      .init(Name.prepared) {
        let loans = LoanRow.select(LoanRow.bookId).filter(LoanRow.memberId == Parameter("member"))
        let query = try db.prepare(
          Book.select(Book.title, Book.pages).filter(Book.id.in(loans) && Book.pages > Parameter("least"))
            .orderBy(Book.id))
        return try keys.reduce(0) { $0 &+ digest(try query.run($1, 100)) }
      },
    ]
  }
}
