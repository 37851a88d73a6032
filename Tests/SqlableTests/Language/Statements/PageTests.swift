import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlableTestSupport

/// Pages that start after a row.
@Suite struct PageTests {
  /// The pages together contain every row once and in order, for random rows with NULLs and random orders.
  @Test func pagesTogetherAreTheWholeListInAnyOrder() throws {
    let seed = SeededGenerator.seed
    var random = SeededGenerator(seed: seed)
    try withDatabase { db in
      try db.createTables(PageEntry.self, KeyedPageEntry.self)
      for _ in 0..<times(10) {
        let entries = (0..<random.pick([0, 1, 5, 30])).map { PageEntry.random(id: $0 + 1, using: &random) }
        try db.transaction { db in
          try PageEntry.deleteAll().run(db)
          try KeyedPageEntry.deleteAll().run(db)
          try PageEntry.insert(entries).run(db)
          try KeyedPageEntry.insert(entries.map(KeyedPageEntry.init)).run(db)
        }
        for _ in 0..<20 {
          let (order, limit) = (PageEntry.randomOrder(using: &random), random.pick([1, 2, 3, 7, 40]))
          let note: Comment = "seed \(seed)"
          try check(PageEntry.read().ordered(by: order), limit, entries, db, note)
          try check(KeyedPageEntry.read().ordered(by: order), limit, entries.map(KeyedPageEntry.init), db, note)
          try checkSelect(order, limit, entries, db, note)
        }
      }
    }
  }

  private func check<Model: Sqlable & Equatable>(
    _ read: Statement<Model, [Model]>, _ limit: Int, _ rows: [Model], _ db: SqliteDatabase, _ note: Comment
  ) throws {
    var (found, last): ([Model], Model?) = ([], nil)
    repeat {
      let page = read.page(after: last, limit: limit)
      let token = try read.pageToken(after: last)
      let sent = try JSONDecoder().decode(PageToken?.self, from: JSONEncoder().encode(token))
      #expect(read.page(after: sent, limit: limit) == page, note)
      #expect(sent?.rawValue.contains(/[^A-Za-z0-9_-]/) != true, note)
      let models = try page.run(db)
      #expect(try page.evaluate(over: rows) == models, note)
      let decoded = try JSONDecoder().decode(Statement<Model, [Model]>.self, from: JSONEncoder().encode(page))
      #expect(decoded.sql == page.sql, note)
      #expect(decoded.bindings == page.bindings, note)
      found += models
      last = models.count == limit ? models.last : nil
    } while last != nil
    // A first page that is long enough is the whole list.
    let whole = try read.page(limit: 1_000).run(db)
    #expect(found == whole, note)
    #expect(whole.count == rows.count, note)
    // A page may start after a row that was deleted.
    guard let middle = whole.dropLast().randomElement(), let place = whole.firstIndex(of: middle) else { return }
    let rest = Array(whole[(place + 1)...])
    #expect(try read.page(after: middle, limit: 1_000).run(db) == rest, note)
    try db.transaction { db in
      try middle.delete().run(db)
      #expect(try read.page(after: middle, limit: 1_000).run(db) == rest, note)
      return TransactionResult.rollback
    }
  }

  /// Checks pages that start after the values of the last row.
  private func checkSelect(
    _ order: [PageOrder], _ limit: Int, _ rows: [PageEntry], _ db: SqliteDatabase, _ note: Comment
  ) throws {
    let query = PageEntry.select(
      PageEntry.id,
      PageEntry.number,
      PageEntry.real,
      PageEntry.name,
      PageEntry.isOpen,
      PageEntry.date
    )
    .ordered(by: order).orderBy(PageEntry.id.desc)
    let whole = try query.run(db).map(\.0)
    #expect(whole.count == rows.count, note)
    var (found, last): ([Int], [any SqlValue]?) = ([], nil)
    repeat {
      let page = try (last.map { query.page(after: $0, limit: limit) } ?? query.page(limit: limit)).run(db)
      found += page.map(\.0)
      last = page.count == limit ? page.last.map { row in order.map { $0.value(row) } + [row.0] } : nil
    } while last != nil
    #expect(found == whole, note)
  }

  @Test func thePageConditionUsesAnIndex() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert((1...200).map { Bicycle(id: $0, name: "\($0)", color: $0 % 3 == 0 ? "red" : "blue") }).run(db)
      let last = Bicycle(id: 7, name: "7", color: "blue")
      let page = Bicycle.read().orderBy(Bicycle.color, .desc).page(after: last, limit: 50)
      #expect(page.bindings == [.text("blue"), .text("blue"), .integer(7), .integer(50)])
      try db.execute("CREATE INDEX of_color ON bicycle(color)")
      let plan = try page.explain(db).description
      #expect(plan.contains("SEARCH bicycle USING INDEX of_color (color<?)"), "\(plan)")
      #expect(!plan.contains("TEMP B-TREE"), "\(plan)")
      // An order by the key alone, in both directions, and by a column with NULLs.
      func condition(_ read: Statement<Bicycle, [Bicycle]>, _ last: Bicycle) -> String {
        let sql = read.page(after: last, limit: 1).sql
        return String(sql.split(separator: " WHERE ", maxSplits: 1)[1].dropLast(" LIMIT ?".count))
      }
      let nobody = Bicycle(id: 7, name: "7", color: "blue", ownerId: nil)
      let owned = Bicycle(id: 7, name: "7", color: "blue", ownerId: 3)
      #expect(condition(Bicycle.read(), last) == #""id" > ? ORDER BY "id""#)
      #expect(condition(Bicycle.read().orderBy(Bicycle.id, .desc), last) == #""id" < ? ORDER BY "id" DESC"#)
      #expect(
        condition(Bicycle.read().orderBy(Bicycle.ownerId), owned)
          == #""owner_id" >= ? AND ("owner_id" > ? OR "id" > ?) ORDER BY "owner_id", "id""#)
      #expect(
        condition(Bicycle.read().orderBy(Bicycle.ownerId), nobody)
          == #"("owner_id" IS NOT NULL OR "id" > ?) ORDER BY "owner_id", "id""#
          || condition(Bicycle.read().orderBy(Bicycle.ownerId), nobody)
            == #""owner_id" IS NOT NULL OR "id" > ? ORDER BY "owner_id", "id""#
      )
      #expect(
        condition(Bicycle.read().orderBy(Bicycle.ownerId, .desc), nobody)
          == #""owner_id" IS NULL AND "id" < ? ORDER BY "owner_id" DESC, "id" DESC"#)
    }
  }

  @Test func aFilterIsKeptWithThePageCondition() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert((1...20).map { Bicycle(id: $0, name: "\($0)", color: $0 % 2 == 0 ? "red" : "blue") }).run(db)
      let reds = Bicycle.read().filter(Bicycle.color == "red" || Bicycle.color == "green")
      let page = reds.page(after: Bicycle(id: 4, name: "4", color: "red"), limit: 3)
      #expect(try page.run(db).map(\.id) == [6, 8, 10])
      #expect(
        page.sql == """
          SELECT "id", "name", "color", "owner_id" FROM "bicycle" \
          WHERE ("color" = ? OR "color" = ?) AND "id" > ? ORDER BY "id" LIMIT ?
          """)
      try db.createTable(Bicycle.self, named: "archive")
      #expect(try page.in("archive").run(db) == [])
    }
  }

  @Test func aPageOfParentsComesWithTheirChildren() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Person.insert((1...3).map { (id: Int) in Person(id: id, name: "p\(id)") }).run(db)
      try Bicycle.insert((1...6).map { Bicycle(name: "b\($0)", color: "red", ownerId: ($0 + 1) / 2) }).run(db)
      let page = Person.read().page(after: Person(id: 1, name: "p1"), limit: 1)
      let owners = try page.including(Bicycle.read().orderBy(Bicycle.id), by: Bicycle.ownerId).run(db)
      #expect(owners.map(\.0.id) == [2])
      #expect(owners.map { $0.1.map(\.name) } == [["b3", "b4"]])
    }
  }

  @Test func queriesThatCannotBePagedAreRefused() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let row = Bicycle(id: 1, name: "", color: "")
      func message(_ statement: Statement<Bicycle, [Bicycle]>) -> String? {
        sqlError { _ = try statement.run(db) }?.message
      }
      let read = Bicycle.read()
      let columns = """
        a page of Bicycle can only be ordered by columns of Bicycle; for another term, use select(…) and \
        page(after: [values], limit:)
        """
      #expect(message(read.orderBy(Bicycle.name.length()).page(after: row, limit: 1)) == columns)
      #expect(message(read.orderBy(Bicycle.name.length()).page(limit: 1)) == columns)
      #expect(
        message(read.page(after: Bicycle(name: "", color: ""), limit: 1))
          == "the row passed as `after` has no key; pass a row that was read")
      #expect(
        message(read.limit(1, offset: 2).page(after: row, limit: 1))
          == "a page can't have an offset; use either page or limit(_:offset:)")
      expectInvalidStatement { _ = try read.page(after: row, limit: -1).run(db) }
      let query = Bicycle.select(Bicycle.id, Bicycle.name)
      func refuses<Row>(_ query: Select<Row>, _ message: String) {
        #expect(sqlError { _ = try query.run(db) }?.message.contains(message) == true)
      }
      refuses(query.page(after: [1], limit: 1), "a page needs an order, and one value for each of the 0 order terms")
      refuses(query.orderBy(Bicycle.id).page(after: [1, 2], limit: 1), "one value for each of the 1 order terms")
      refuses(query.orderBy(Bicycle.id).page(after: ["x"], limit: 1), "id")
      refuses(query.groupBy(Bicycle.name).orderBy(Bicycle.id).page(after: [1], limit: 1), "a query without groups")
      refuses(
        query.orderBy(rowNumber().over(orderBy: Bicycle.id.asc)).page(after: [1], limit: 1), "a query without groups")
      refuses(query.union(query).orderBy(Bicycle.id).page(after: [1], limit: 1), "a page")
    }
  }

  @Test func theFirstPageFollowsNil() {
    let read = Bicycle.read().orderBy(Bicycle.color)
    #expect(read.page(after: nil, limit: 3) == read.page(limit: 3))
    #expect(read.page(after: nil as PageToken?, limit: 3) == read.page(limit: 3))
    let query = Bicycle.select(Bicycle.id).orderBy(Bicycle.id)
    #expect(query.page(after: nil, limit: 3) == query.page(limit: 3))
  }

  @Test func aForeignOrDamagedTokenIsRefused() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let row = Bicycle(id: 1, name: "a", color: "red")
      let list = Bicycle.read().orderBy(Bicycle.color, .desc)
      let token = try #require(try list.pageToken(after: row))
      func message(_ token: PageToken, _ list: Statement<Bicycle, [Bicycle]>) -> String? {
        let error = sqlError { _ = try list.page(after: token, limit: 1).run(db) }
        guard case .invalidStatement = error?.kind else { return error.map { "\($0.kind)" } }
        return error?.message
      }
      /// A token with other contents.
      func changed(_ old: String, _ new: String) throws -> PageToken {
        let text = token.rawValue.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
        let data = try #require(Data(base64Encoded: text + padding))
        let json = String(decoding: data, as: UTF8.self)
        #expect(json.contains(old))
        return PageToken(rawValue: Data(json.replacing(old, with: new).utf8).base64EncodedString().filter { $0 != "=" })
      }
      #expect(message(token, list.filter(Bicycle.color == "blue")) == nil)
      let other = "the page token belongs to another table or order; start with the first page"
      #expect(message(token, Bicycle.read()) == other)
      #expect(message(token, Bicycle.read().orderBy(Bicycle.color)) == other)
      #expect(message(token, Bicycle.read().orderBy(Bicycle.name, .desc)) == other)
      #expect(message(token, list.in("archive")) == other)
      #expect(message(token, Bicycle.read().orderBy(Bicycle.color.collate(.nocase).desc)) == other)
      let damaged = "the page token is damaged; start with the first page"
      for text in ["", "x", "é", "e30", "bnVsbA", token.rawValue + "AAAA", String(token.rawValue.dropLast(9))] {
        #expect(message(PageToken(rawValue: text), list) == damaged, "\(text)")
      }
      #expect(try message(changed(#"{"integer":1}"#, #"{"integer":7}"#), list) == nil)
      #expect(try message(changed(#"{"integer":1}"#, #"{"text":"1"}"#), list) == damaged)
      #expect(try message(changed(#"{"integer":1}"#, #"{"null":true}"#), list) == damaged)
      #expect(try message(changed(#"{"text":"red"}"#, #"{"null":true}"#), list) == damaged)
      #expect(try message(changed(#"{"text":"red"},"#, ""), list) == damaged)
      #expect(throws: SqlError.self) { _ = try Bicycle.read().orderBy(Bicycle.name.length()).pageToken(after: row) }
      #expect(throws: SqlError.self) { _ = try list.pageToken(after: Bicycle(name: "", color: "")) }
      #expect(try list.pageToken(after: nil) == nil)
    }
  }

  /// A policy checks a page's condition like any filter.
  @Test func aPolicyAllowsAPageIfItsColumnsCanBeComparedAndSorted() throws {
    let page = Bicycle.read().select(Bicycle.id, Bicycle.color).orderBy(Bicycle.id).page(after: [3], limit: 2)
    let json = try page.json()
    let sorted = StatementPolicy(.table(Bicycle.self).reading(Bicycle.id, Bicycle.color).sorting(Bicycle.id))
    #expect(throws: SqlError.self) { _ = try sorted.statement(json: json) }
    let compared = StatementPolicy(
      .table(Bicycle.self).reading(Bicycle.id, Bicycle.color).sorting(Bicycle.id)
        .filtering(Bicycle.id, by: .comparison))
    _ = try compared.statement(json: json)
  }
}

/// A row with NULLs and few distinct values, so that many rows tie.
private struct PageEntry: SqlCodable, Equatable {
  var id: Int
  var number: Int?
  var real: Double?
  var name: String?
  var isOpen: Bool
  var date: Date?

  static let id = column("id", Int.self, PrimaryKey())
  static let number = column("number", Int?.self)
  static let real = column("real", Double?.self)
  static let name = column("name", String?.self, Collate.nocase)
  static let isOpen = column("is_open", Bool.self)
  static let date = column("date", Date?.self)
  static let tableLayout = [id.column, number.column, real.column, name.column, isOpen.column, date.column]

  static func random(id: Int, using random: inout SeededGenerator) -> PageEntry {
    PageEntry(
      id: id, number: random.pick([nil, nil, 1, 2, -3]), real: random.pick([nil, 0, 0.5, -.infinity]),
      name: random.pick([nil, "", "a", "A", "b", "é"]), isOpen: random.chance(50),
      date: random.pick([nil, Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 0.25)]))
  }

  /// Returns an order by up to three columns, with possible duplicates.
  static func randomOrder(using random: inout SeededGenerator) -> [PageOrder] {
    (0..<random.pick([0, 1, 2, 3])).map { _ in
      let place = Int.random(in: 0..<5, using: &random)
      let term = [number.expression, real.expression, name.expression, isOpen.expression, date.expression][place]
      let ordering = random.chance(50) ? term.asc : term.desc
      return PageOrder(
        place: place, ordering: random.pick([ordering, ordering, ordering.nullsFirst, ordering.nullsLast]))
    }
  }
}

/// An order by a column, and the column's value in a row.
private struct PageOrder {
  let place: Int
  let ordering: Ordering

  func value(_ row: (Int, Int?, Double?, String?, Bool, Date?)) -> any SqlValue {
    switch place {
    case 0: row.1
    case 1: row.2
    case 2: row.3
    case 3: row.4
    default: row.5
    }
  }
}

extension Statement {
  fileprivate func ordered(by order: [PageOrder]) -> Statement {
    order.reduce(self) { $0.orderBy($1.ordering) }
  }
}

extension Select {
  fileprivate func ordered(by order: [PageOrder]) -> Select { order.reduce(self) { $0.orderBy($1.ordering) } }
}

/// A `PageEntry` in a WITHOUT ROWID table with a key of two columns.
private struct KeyedPageEntry: Sqlable, Equatable {
  var entry: PageEntry

  static let half = column("half", String.self)
  static let id = column("id", Int.self)
  static let tableLayout = [half.column, id.column] + PageEntry.tableLayout.dropFirst()
  static let tableOptions: [TableOption] = [.withoutRowid]
  static let tableConstraints: [TableConstraint] = [PrimaryKeys(half, id)]

  init(_ entry: PageEntry) { self.entry = entry }

  init(row: ReadRow) throws {
    row.skip(KeyedPageEntry.half)
    entry = PageEntry(
      id: try row.get(KeyedPageEntry.id), number: try row.get(PageEntry.number), real: try row.get(PageEntry.real),
      name: try row.get(PageEntry.name), isOpen: try row.get(PageEntry.isOpen), date: try row.get(PageEntry.date))
  }

  func write(to row: inout RowWriter) throws {
    row.set(KeyedPageEntry.half, entry.id % 2 == 0 ? "even" : "odd")
    row.set(KeyedPageEntry.id, entry.id)
    row.set(PageEntry.number, entry.number)
    row.set(PageEntry.real, entry.real)
    row.set(PageEntry.name, entry.name)
    row.set(PageEntry.isOpen, entry.isOpen)
    row.set(PageEntry.date, entry.date)
  }
}
