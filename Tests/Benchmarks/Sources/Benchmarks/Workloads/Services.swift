import CBaseline
import CSQLite3
import Foundation
import Sqlable

extension Suite {
  /// What services live on.
  var services: [Workload] {
    let edits = fixture.scaled(5_000)
    let pages = fixture.scaled(2_000)
    let joins = fixture.scaled(2_000)
    let blobs = fixture.scaled(2_000)
    let lists = fixture.scaled(50, atLeast: 3)
    return [
      workload("S1", "read, change and write a row by key, each in a transaction", operations: edits) {
        try readModifyWrite(edits)
      },
      workload("S2", "pages of 20 rows in the order of an index, from a key on", operations: pages) {
        self.pages(pages)
      },
      workload("S3", "joins of three tables, 20 rows each", operations: joins) { self.joins(joins) },
      workload("S4", "rows with a JSON column, decoded; ratio to raw Swift", operations: fixture.scaled(5_000)) {
        documents
      },
      workload("S5", "blobs of 4 KiB in and out, one transaction", operations: blobs) { try attachments(blobs) },
      workload("S6", "rows of 1,000 keys with IN", operations: lists) { inLists(lists) },
    ]
  }

  private func readModifyWrite(_ count: Int) throws -> [Workload.Contender] {
    let ids = fixture.keys(count)
    let ids64 = ids.map { Int64($0) }
    let rows = fixture.rows
    let (c, swift, db) = (try fixture.rawWriter(.c), try fixture.rawWriter(.swift), try fixture.writer())
    return [
      writing(Name.c, .c, rows: rows) { baseline_read_modify_write(c.db, ids64, Int32(count)) },
      writing(Name.swift, .swift, rows: rows) { try RawSwift.readModifyWrite(swift, ids) },
      writing(Name.untyped, .sqlable, rows: rows) {
        try ids.reduce(0) { sum, id in
          try db.transaction { db in
            guard var row = try Untyped.byId(id).run(db) else { return sum }
            let digest = row.digest
            row.row.price += 1
            try row.update(Untyped.price).run(db)
            return sum &+ digest
          }
        }
      },
      writing(Name.typed, .sqlable, rows: rows) {
        try ids.reduce(0) { sum, id in
          try db.transaction { db in
            guard var row = try Typed.byId(id).run(db) else { return sum }
            let digest = row.digest
            row.row.price += 1
            try row.update(Typed.price).run(db)
            return sum &+ digest
          }
        }
      },
    ]
  }

  private func pages(_ count: Int) -> [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    let names = fixture.keys(count).map { MixedRow.name(of: $0) }
    let texts = RawTexts(names)
    return [
      .init(Name.c) { baseline_pages(raw.db, texts.texts.baseAddress, Int32(count)) },
      .init(Name.swift) {
        let statement = try raw.prepare(
          "SELECT \(RawSwift.mixedColumns) FROM mixed WHERE name > ? ORDER BY name LIMIT ?")
        defer { sqlite3_finalize(statement) }
        return names.reduce(0) { sum, name in
          RawSwift.bind(name, statement, 1)
          sqlite3_bind_int64(statement, 2, 20)
          return sum &+ RawSwift.rows(statement).digest()
        }
      },
      .init(Name.untyped) {
        try names.reduce(0) { sum, name in
          sum &+ (try Untyped.read().filter(Untyped.name > name).orderBy(Untyped.name).limit(20).run(db).digest())
        }
      },
      .init(Name.typed) {
        try names.reduce(0) { sum, name in
          sum &+ (try Typed.read().filter(Typed.name > name).orderBy(Typed.name).limit(20).run(db).digest())
        }
      },
    ]
  }

  private func joins(_ count: Int) -> [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    let members = (0..<count).map { ($0 &* 7919) % fixture.members }
    let members64 = members.map { Int64($0) }
    return [
      .init(Name.c) { baseline_join(raw.db, members64, Int32(count)) },
      .init(Name.swift) {
        let statement = try raw.prepare(Loan.sql)
        defer { sqlite3_finalize(statement) }
        return members.reduce(0) { sum, member in
          sqlite3_bind_int64(statement, 1, Int64(member))
          var loans: [Loan] = []
          while sqlite3_step(statement) == SQLITE_ROW {
            loans.append(
              Loan(
                id: Int(sqlite3_column_int64(statement, 0)), title: RawSwift.text(statement, 1),
                author: RawSwift.text(statement, 2), pages: Int(sqlite3_column_int64(statement, 3))))
          }
          sqlite3_reset(statement)
          return sum &+ loans.digest()
        }
      },
      .init(Name.sqlable + " query") {
        try members.reduce(0) { sum, member in
          let loans = try db.query(
            """
            SELECT loan.id, book.title, author.name, book.pages FROM loan JOIN book ON book.id = loan.book_id \
            JOIN author ON author.id = book.author_id WHERE loan.member_id = \(member) ORDER BY loan.id
            """
          ) { row in
            Loan(
              id: try row.get(at: 0), title: try row.get(at: 1), author: try row.get(at: 2), pages: try row.get(at: 3))
          }
          return sum &+ loans.digest()
        }
      },
      .init(Name.typed) {
        try members.reduce(0) { sum, member in
          let rows = try LoanRow.read().joining(Book.self, on: Book.id == LoanRow.bookId)
            .joining(Author.self, on: Author.id == Book.authorId).filter(LoanRow.memberId == member)
            .orderBy(LoanRow.id).select(LoanRow.id, Book.title, Author.name, Book.pages).run(db)
          return sum &+ rows.map { Loan(id: $0.0, title: $0.1, author: $0.2, pages: $0.3) }.digest()
        }
      },
    ]
  }

  /// Without C, which has no decoder of its own.
  private var documents: [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    return [
      .init(Name.swift) {
        let statement = try raw.prepare("SELECT id, body FROM document")
        defer { sqlite3_finalize(statement) }
        let decoder = JSONDecoder()
        var rows: [DocumentRow] = []
        while sqlite3_step(statement) == SQLITE_ROW {
          let text = Data(bytes: sqlite3_column_text(statement, 1), count: Int(sqlite3_column_bytes(statement, 1)))
          rows.append(
            DocumentRow(
              id: Int(sqlite3_column_int64(statement, 0)), body: try decoder.decode(Body.self, from: text)))
        }
        return rows.digest()
      },
      .init(Name.untyped) { try UntypedDocument.read().run(db).digest() },
      .init(Name.typed) { try TypedDocument.read().run(db).digest() },
    ]
  }

  private func attachments(_ count: Int) throws -> [Workload.Contender] {
    let content = AttachmentRow.content
    let (c, swift, db) = (try fixture.rawWriter(.c), try fixture.rawWriter(.swift), try fixture.writer())
    return [
      writing(Name.c, .c) {
        content.withUnsafeBytes { baseline_blobs(c.db, $0.baseAddress, Int32(content.count), Int32(count)) }
      },
      writing(Name.swift, .swift) {
        try swift.transaction("BEGIN IMMEDIATE") { try RawSwift.attachments(swift, content, count) }
      },
      writing(Name.untyped, .sqlable) {
        try db.transaction { db in
          for id in 1...count { try UntypedAttachment(AttachmentRow(id: id, content: content)).insert().run(db) }
          return try (1...count).reduce(0) { $0 &+ (try UntypedAttachment.byId($1).run(db)?.digest ?? 0) }
        }
      },
      writing(Name.typed, .sqlable) {
        try db.transaction { db in
          for id in 1...count { try TypedAttachment(AttachmentRow(id: id, content: content)).insert().run(db) }
          return try (1...count).reduce(0) { $0 &+ (try TypedAttachment.byId($1).run(db)?.digest ?? 0) }
        }
      },
    ]
  }

  private func inLists(_ count: Int) -> [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    let ids = fixture.keys(1_000 * count)
    let ids64 = ids.map { Int64($0) }
    let lists = (0..<count).map { Array(ids[$0 * 1_000..<($0 + 1) * 1_000]) }
    return [
      .init(Name.c) { baseline_in_list(raw.db, ids64, 1_000, Int32(count)) },
      .init(Name.swift) {
        let marks = Array(repeating: "?", count: 1_000).joined(separator: ",")
        let statement = try raw.prepare("SELECT \(RawSwift.mixedColumns) FROM mixed WHERE id IN (\(marks))")
        defer { sqlite3_finalize(statement) }
        return lists.reduce(0) { sum, list in
          for (index, id) in list.enumerated() { sqlite3_bind_int64(statement, Int32(index + 1), Int64(id)) }
          return sum &+ RawSwift.rows(statement).digest()
        }
      },
      .init(Name.untyped) {
        try lists.reduce(0) { $0 &+ (try Untyped.read().filter(Untyped.id ∈ $1).run(db).digest()) }
      },
      .init(Name.typed) { try lists.reduce(0) { $0 &+ (try Typed.read().filter(Typed.id ∈ $1).run(db).digest()) } },
    ]
  }
}

extension Loan {
  static let sql = """
    SELECT loan.id, book.title, author.name, book.pages FROM loan JOIN book ON book.id = loan.book_id \
    JOIN author ON author.id = book.author_id WHERE loan.member_id = ? ORDER BY loan.id
    """
}

extension AttachmentRow {
  /// The 4 KiB that every blob holds.
  static let content = Data((0..<4_096).map { UInt8(truncatingIfNeeded: $0 &* 31) })
}

extension RawSwift {
  fileprivate static func readModifyWrite(_ raw: RawSwift, _ ids: [Int]) throws -> UInt64 {
    let begin = try raw.prepare("BEGIN IMMEDIATE")
    let select = try raw.prepare("SELECT \(mixedColumns) FROM mixed WHERE id = ?")
    let update = try raw.prepare("UPDATE mixed SET price = ? WHERE id = ?")
    let commit = try raw.prepare("COMMIT")
    defer { for statement in [begin, select, update, commit] { sqlite3_finalize(statement) } }
    return try ids.reduce(0) { sum, id in
      try step(begin)
      sqlite3_bind_int64(select, 1, Int64(id))
      guard sqlite3_step(select) == SQLITE_ROW else { return sum }
      let row = mixed(select)
      sqlite3_reset(select)
      sqlite3_bind_double(update, 1, row.price + 1)
      sqlite3_bind_int64(update, 2, Int64(row.id))
      try step(update)
      try step(commit)
      return sum &+ row.digest
    }
  }

  fileprivate static func attachments(_ raw: RawSwift, _ content: Data, _ count: Int) throws -> UInt64 {
    let insert = try raw.prepare("INSERT INTO attachment (id, content) VALUES (?, ?)")
    let select = try raw.prepare("SELECT id, content FROM attachment WHERE id = ?")
    defer { for statement in [insert, select] { sqlite3_finalize(statement) } }
    for id in 1...count {
      sqlite3_bind_int64(insert, 1, Int64(id))
      try content.withUnsafeBytes { bytes in
        sqlite3_bind_blob(insert, 2, bytes.baseAddress, Int32(bytes.count), nil)
        try step(insert)
      }
    }
    return (1...count).reduce(0) { sum, id in
      sqlite3_bind_int64(select, 1, Int64(id))
      defer { sqlite3_reset(select) }
      guard sqlite3_step(select) == SQLITE_ROW else { return sum }
      return sum &+ AttachmentRow(id: Int(sqlite3_column_int64(select, 0)), content: blob(select, 1)).digest
    }
  }
}
