import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// SQL text as terms.
@Suite struct SqlFragmentTests {
  private struct Parcel: Sqlable {
    let id: Int
    let weight: Double
    let label: String
    static let id = column("id", Int.self, PrimaryKey())
    static let weight: TypedColumn<Parcel, Double> = column(
      "weight", Double.self,
      Check(SqlExpression(sql: "\(Parcel.weight) = round(\(Parcel.weight)) AND \(Parcel.weight) < \(1000.0)")))
    static let label: TypedColumn<Parcel, String> = column(
      "label", String.self, Generated(TypedExpression<String>(sql: "(\(Parcel.weight) * \(1000.0)) || ' [?] g'")))
    static let tableLayout = [id.column, weight.column, label.column]
    static let tableIndexes = [Index(TypedExpression<Int>(sql: "CAST(\(Parcel.weight) AS INTEGER) & \(3)"))]

    init(row: ReadRow) throws {
      id = try row.get(Parcel.id)
      weight = try row.get(Parcel.weight)
      label = try row.get(Parcel.label)
    }
  }

  private func withCars(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      try Car.insert([
        Car(name: "Zoe", price: 19_999.99, isElectric: true, soldAt: Date(timeIntervalSince1970: 1_706_708_730)),
        Car(name: "Leaf", price: 21_000.5, isElectric: true),
        Car(name: "Polo", price: 19_999.99, isElectric: false),
      ]).run(db)
      try body(db)
    }
  }

  private static let cents = TypedExpression<Int>(sql: "CAST(round(\(Car.price) * 100) AS INTEGER) % \(100)")

  // MARK: Places

  @Test func sqlTextWorksWhereverATermDoes() throws {
    let cents = Self.cents
    try withCars { db in
      let read = Car.select(Car.name, cents).filter(cents == 99 && cents != 3).orderBy(cents.desc, Car.name.asc)
      let text = #"(CAST(round("price" * 100) AS INTEGER) % ?)"#
      #expect(
        read.sql
          == #"SELECT "name", \#(text) FROM "car" WHERE \#(text) = ? AND \#(text) <> ? ORDER BY 2 DESC, "name""#)
      #expect(read.bindings == [.integer(100), .integer(100), .integer(99), .integer(100), .integer(3)])
      let rows = try read.run(db)
      #expect(rows.map(\.0) == ["Polo", "Zoe"])
      #expect(rows.map(\.1) == [99, 99])
      let groups = Car.select(cents, countAll()).groupBy(cents).having(SqlExpression(sql: "count(*) > \(1)"))
      #expect(groups.sql == #"SELECT \#(text), count(*) FROM "car" GROUP BY 1 HAVING (count(*) > ?)"#)
      #expect(try groups.run(db).map { [$0.0, $0.1] } == [[99, 2]])
      let all = try Car.select(
        cents.max(),
        TypedExpression<String>(sql: "group_concat(\(Car.name), \("+"))"),
        cents.sum()
      ).first(db)
      #expect(all?.0 == 99)
      #expect(all?.1 == "Zoe+Leaf+Polo")
      #expect(all?.2 == 248)
    }
  }

  @Test func sqlTextMayBeAWindowFunction() throws {
    try withCars { db in
      let second = TypedExpression<Double?>(sql: "nth_value(\(Car.price), 2) OVER (ORDER BY \(Car.price), \(Car.id))")
      let rows = try Car.select(Car.name, second).orderBy(Car.price).orderBy(Car.id).run(db)
      #expect(rows.map(\.1) == [nil, 19_999.99, 19_999.99])
    }
  }

  @Test func sqlTextIsAssignedInUpdatesAndUpserts() throws {
    try withCars { db in
      let round = TypedExpression<Double>(sql: "CAST(\(Car.price) / \(1000) AS INTEGER) * \(1000.0)")
      let update = Car.update(Car.price.set(to: round)).filter(SqlExpression(sql: "\(Car.price) > \(20_000)"))
      #expect(
        update.sql
          == #"UPDATE "car" SET "price" = (CAST("price" / ? AS INTEGER) * ?) WHERE ("price" > ?)"#)
      #expect(try update.run(db) == 1)
      #expect(try Car.select(Car.price).filter(Car.name == "Leaf").run(db) == [21_000])
      let car = Car(id: 1, name: "Zoe", price: 5, isElectric: true)
      let longer = TypedExpression<String>(sql: "\(Car.name) || \(Car.name.excluded)")
      let upsert = car.insert().onConflict(Car.id, set: Car.name.set(to: longer))
      #expect(upsert.sql.contains(#"SET "name" = ("car"."name" || "excluded"."name")"#))
      _ = try upsert.run(db)
      #expect(try Car.byId(1).run(db)?.name == "ZoeZoe")
    }
  }

  @Test(.needs(35, "RETURNING")) func sqlTextIsReturned() throws {
    try withCars { db in
      let names = try Car.delete(Car.id == 1).returning(TypedExpression<String>(sql: "quote(\(Car.name))")).run(db)
      #expect(names == ["'Zoe'"])
    }
  }

  @Test func sqlTextDefinesIndexesChecksAndGeneratedColumns() throws {
    try withDatabase { db in
      let created = try db.createTable(Parcel.self)
      #expect(created.isEmpty == false)
      let schema = try db.query("SELECT sql FROM sqlite_schema WHERE tbl_name = 'parcel'", as: String.self).joined()
      #expect(schema.contains(#"CHECK (("weight" = round("weight") AND "weight" < 1000.0))"#), "\(schema)")
      #expect(schema.contains(#"GENERATED ALWAYS AS ((("weight" * 1000.0) || ' [?] g'))"#), "\(schema)")
      #expect(schema.contains(#"ON "parcel" ((CAST("weight" AS INTEGER) & 3))"#), "\(schema)")
      // A second call finds nothing to create.
      #expect(try db.createTable(Parcel.self).isEmpty)
      try db.execute("INSERT INTO parcel (id, weight) VALUES (1, 6)")
      #expect(
        sqlError { try db.execute("INSERT INTO parcel (id, weight) VALUES (2, 6.5)") }?.kind == .constraint(.check))
      #expect(try Parcel.read().run(db).map(\.label) == ["6000.0 [?] g"])
      let found = Parcel.read().filter(TypedExpression<Int>(sql: "CAST(\(Parcel.weight) AS INTEGER) & 3") == 2)
      #expect(try found.explain(db).description.contains("USING INDEX"))
      #expect(try found.run(db).map(\.id) == [1])
    }
    try withDatabase { db in
      #expect(
        sqlError { try db.createTable(Entry<Counted>.self) }?.message.contains("can't contain a subquery") == true)
    }
  }

  @Test func sqlTextIsInterpolatedIntoSQL() throws {
    try withCars { db in
      let isCheap = SqlExpression(sql: "\(Car.price) < \(20_000)")
      #expect(try db.query("SELECT count(*) FROM car WHERE \(isCheap)", as: Int.self) == [2])
      #expect(SQL("SELECT 1 FROM car WHERE \(isCheap)").text == #"SELECT 1 FROM car WHERE (("price" < ?))"#)
      let prepared = try db.prepare(
        Car.select(Car.name).filter(SqlExpression(sql: "length(\(Car.name)) = \(Parameter<Int>("n"))")))
      #expect(try prepared.run(["n": 3]) == ["Zoe"])
    }
  }

  // MARK: Columns

  @Test func columnsInSQLTextBelongToTheirTables() throws {
    try withCompany { db in
      let pair = TypedExpression<String>(sql: "\(Worker.name) || ' ' || \(Person.name)")
      let join = Worker.join(Person.self, on: SqlExpression(sql: "\(Worker.id) = \(Person.id)")).select(pair)
      #expect(
        join.sql == #"SELECT ("worker"."name" || ' ' || "person"."name") FROM "worker" JOIN "person" "#
          + #"ON ("worker"."id" = "person"."id")"#)
      let pairs = try join.run(db)
      #expect(pairs.sorted() == ["Ada Anna", "Ben Bo", "Cleo Cid"])
      let boss = Alias(Worker.self, "boss")
      let names = Worker.select(Worker.name).joining(boss, on: Worker.bossId == boss[Worker.id])
        .filter(SqlExpression(sql: "\(boss[Worker.name]) > \(Worker.name)"))
      #expect(names.sql.hasSuffix(#"WHERE ("boss"."name" > "worker"."name")"#))
      #expect(try names.run(db).isEmpty)
      let error = sqlError { _ = try Person.read().filter(SqlExpression(sql: "\(Worker.bossId) = 1")).run(db) }
      #expect(error?.kind == .schema(.missingColumn("boss_id")))
    }
  }

  /// The text's subquery has a table with a column of the same name.
  @Test func aColumnIsQualifiedInsideASubqueryInTheText() throws {
    try withCompany { db in
      try db.execute("INSERT INTO worker (id, name, salary) VALUES (9, 'ANNA', 3)")
      let isWorker = SqlExpression(
        sql: "EXISTS (SELECT * FROM \(Worker.self) WHERE name = \(Person.name) COLLATE NOCASE)")
      let read = Person.read().filter(isWorker)
      #expect(
        read.sql.hasSuffix(
          #"WHERE (EXISTS (SELECT * FROM "worker" WHERE name = "person"."name" COLLATE NOCASE))"#))
      #expect(try read.run(db).map(\.name) == ["Anna"])
      #expect(try Person.delete(isWorker).run(db) == 1)
      let error = sqlError {
        _ = try Person.read().filter(SqlExpression(sql: "(SELECT \(Worker.bossId)) = 1")).run(db)
      }
      #expect(error?.kind == .schema(.missingColumn("boss_id")))
      #expect(error?.message.contains("person") == true)
      // A word in quotes is not a subquery.
      #expect(
        Person.read().filter(SqlExpression(sql: "\(Person.name) = 'select'")).sql.hasSuffix(#"("name" = 'select')"#))
    }
  }

  // MARK: Values

  @Test func valuesAreBoundAndStaySeparateFromTheText() throws {
    let (one, two) = (TypedExpression<Int>(sql: "\(1)2"), TypedExpression<Int>(sql: "-\(-1)"))
    #expect(Car.select(one, two).sql == #"SELECT (? 2), (-?) FROM "car""#)
    for (fragment, sql, bindings) in [
      ("\(Car.name) IN (\(["a", "b"]))", #"("name" IN (?, ?))"#, [.text("a"), .text("b")]),
      ("\(Car.name) IN (\([String]()))", #"("name" IN ())"#, []),
      ("\(Car.price)IN(\([DatabaseValue.real(1), .null]))", #"("price" IN(?, ?))"#, [.real(1), .null]),
      ("\(json: ["a"])=\(Car.name)", #"(?="name")"#, [.text(#"["a"]"#)]),
      ("NOT\(Car.name)AND\(Data([1]))", #"(NOT "name" AND ?)"#, [.blob(Data([1]))]),
      ("\(Car.name)\(Car.price)", #"("name" "price")"#, []),
      ("\(Car.self).\(column: "a\"b")=\(table: "x")\(table: "y")", #"("car"."a""b"="x" "y")"#, []),
      ("\(Car.price + 1) * \(-Car.price)", #"(("price" + ?) * (-"price"))"#, [.real(1)]),
      ("\(nil as Int?) IS \(DatabaseValue.integer(3))", "(? IS ?)", [.null, .integer(3)]),
      ("\(Date(timeIntervalSince1970: 2.5)) /* ) ? */", "(? /* ) ? */)", [.real(2.5)]),
      ("\(Date(timeIntervalSince1970: 2.5), as: Stay.milliseconds) -- x)\n", "(? -- x)\n)", [.integer(2500)]),
      (
        "\(Case.when(Car.id == 1, then: 2).end())+[;)?]+`)`", #"(CASE WHEN "id" = ? THEN ? END+[;)?]+`)`)"#,
        [1, 2].map { .integer($0) }
      ),
    ] as [(SqlFragment, String, [DatabaseValue])] {
      let read = Car.count().filter(SqlExpression(sql: fragment))
      #expect(read.sql == #"SELECT count(*) FROM "car" WHERE \#(sql)"#)
      #expect(read.bindings == bindings, "\(sql)")
    }
    let doubled = Car.read().filter(SqlExpression(sql: "\(1)") == SqlExpression(sql: "1")).sql
    #expect(doubled.hasSuffix("WHERE (?) = (1)"))
  }

  @Test func neighbouringOperatorsDoNotChangeTheText() throws {
    try withCars { db in
      let either = SqlExpression(sql: "\(Car.name) = \("Zoe") OR \(Car.name) = \("Leaf")")
      let dear = try Car.count().filter(either && Car.price > 20_000).run(db)
      #expect(dear == 1)
      #expect(try Car.count().filter(!either).run(db) == 1)
      let sum = TypedExpression<Double>(sql: "\(Car.price) - \(Car.price) + 1")
      #expect(try Car.select(sum * 2).run(db) == [2, 2, 2])
      #expect(try Car.select(-sum).run(db) == [-1, -1, -1])
    }
  }

  @Test func hostileValuesAndNamesStayValuesAndNames() throws {
    try withCars { db in
      for text in textsLikeSQL + [String](repeating: "')); DELETE FROM car; --", count: 1) {
        let value = try Car.select(TypedExpression<String>(sql: "\(text)")).limit(1).run(db)
        #expect(value == [text])
        let name = TypedExpression<String>(sql: "(SELECT \(column: text) FROM (SELECT 'x' AS \(column: text)))")
        #expect(try Car.select(name).limit(1).run(db) == ["x"], "\(text)")
      }
      #expect(try Car.count().run(db) == 3)
      expectInvalidStatement { _ = try Car.count().filter(SqlExpression(sql: "\(column: "a\0b")")).run(db) }
    }
  }

  // MARK: Texts

  @Test func textThatIsNotOneTermIsRefused() throws {
    try withCars { db in
      let texts: [SqlFragment] = [
        "", "  \n", "1); DELETE FROM car; --", "1) OR (1", "(1", "1)", ")(", "';", "'", "\"", "`", "[", "1 /*", "1 --",
        "1 -- )", "'\(1)'", "\"\(Car.name)\"", "[\(1)]", "/* \(1) */ 1", "-- \(1)\n1", "?", "?1", ":id", "@id", "#1",
        "$id", "1;", "a\0b", "'\0'", "x'\(1)'", "'a''", "(1 -- )\n", "(')'",
        "EXISTS (\(Car.read()))", .init(verbatim: "1 UNION SELECT 2;"), "\([1, 2] as [Int]?)",
      ]
      for fragment in texts {
        let read = Car.count().filter(SqlExpression(sql: fragment))
        #expect(expectInvalidStatement { _ = try read.run(db) }?.code == 0, "\(fragment)")
        #expect(read.sql.hasPrefix("-- "))
      }
      for text in ["1'2'", "a$b$", "x''", "1 /* ' */", "1 -- '\n", "'--'", "\"/*\"", "- - 1", "1 / 2"] {
        #expect(!Car.count().filter(SqlExpression(sql: .init(verbatim: text))).sql.hasPrefix("-- "), "\(text)")
      }
      let count = try Car.count().run(db)
      #expect(count == 3)
    }
  }

  /// SQLite must read the statement around any random text as intended.
  @Test func noTextChangesTheStatementAroundIt() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    let pieces = [
      "(", ")", ";", "'", "\"", "`", "[", "]", "--", "/*", "*/", "\n", "1", "name", "?", ":x", " ", "-", "/", "*", ",",
      "'a'", "SELECT", "FROM car", "|| ", "x'", "$", "UNION ", "LIMIT 1", "0x1", ".", "e",
    ]
    try withCars { db in
      var (accepted, run) = (0, 0)
      for _ in 0..<20_000 {
        let text = (0..<Int.random(in: 1...6, using: &random)).map { _ in pieces.randomElement(using: &random)! }
          .joined()
        let term = SqlExpression(sql: .init(verbatim: text))
        let read = Car.read().select(SqlExpression(sql: "7"), term, SqlExpression(sql: "'end'")).filter(Car.id == 1)
        guard !read.sql.hasPrefix("-- ") else { continue }
        accepted += 1
        // SQLite refuses texts that are not a term.
        guard let rows = try? read.run(db) else { continue }
        run += 1
        #expect(rows.count == 1, "\(text)")
        let values = try #require(rows.first, "\(text)").values
        #expect(values.count == 3, "\(text)")
        #expect(values.first == .integer(7), "\(text)")
        #expect(values.last == .text("end"), "\(text)")
      }
      #expect(accepted > 1000, "\(accepted) \(run)")
      #expect(run > 100, "\(accepted) \(run)")
      let count = try Car.count().run(db)
      #expect(count == 3)
    }
  }

  @Test func equalTextsAroundEqualTermsAreEqual() {
    func term(_ value: Int, _ column: TypedColumn<Car, Double> = Car.price) -> SqlExpression {
      SqlExpression(sql: "\(column) > \(value)")
    }
    #expect(term(1) == term(1))
    #expect(term(1).hashValue == term(1).hashValue)
    #expect(term(1) != term(2))
    #expect(term(1) != SqlExpression(sql: "\(Car.price)  > \(1)"))
    // Swift treats both forms of é as equal. SQLite does not.
    #expect(SqlFragment("'\u{e9}'") != SqlFragment("'e\u{301}'"))
    #expect(Car.read().filter(term(1)) == Car.read().filter(term(1)))
  }

  // MARK: Data

  @Test func sqlTextHasNoDocumentForm() throws {
    let read = Car.read().filter(SqlExpression(sql: "\(Car.price) > \(1)"))
    expectInvalidStatement { _ = try read.json() }
    expectInvalidStatement { _ = try JSONEncoder().encode(SqlExpression(sql: "1")) }
    for key in ["sql", "fragment", "raw"] {
      let json = #"{"read":{"from":["car"],"where":{"\#(key)":["1"]}},"sqlable":1}"#
      #expect(throws: SqlError.self) { _ = try Statement<Car, [Car]>(json: Data(json.utf8)) }
    }
    expectInvalidStatement { _ = try AnyStatement(read).json() }
    #expect(
      sqlError { try AnyStatement(read).checkIsRepeatable() }?.message.hasPrefix("SQL text can't be checked")
        == true)
  }

  /// The policy's condition applies in addition to the document's filter.
  @Test func aPolicyConditionMayBeSQLText() throws {
    try withCars { db in
      let policy = StatementPolicy(
        .table(Car.self).readingAll().filtering(Car.name, by: .equality)
          .rows(where: SqlExpression(sql: "\(Car.price) < \(20_000) OR trim(\(Car.name)) = \("x")")))
      let json = try Car.read().filter(Car.name != "Polo").json()
      let statement = try policy.statement(Select<Car>.self, json: json)
      #expect(try statement.run(db).map(\.name) == ["Zoe"])
      // SQLite's authorizer allows the function that the policy's text calls.
      #expect(try statement.limited(by: policy).run(db).map(\.name) == ["Zoe"])
    }
  }

  /// A live result follows the tables that the text reads.
  @Test func aLiveResultFollowsTheTablesOfTheText() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory, PoolConfiguration(pollInterval: nil))
      try await pool.transaction { db in
        try db.createTables(Car.self, Person.self)
        try Person(id: 1, name: "Anna").insert().run(db)
      }
      let count = Person.count().filter(SqlExpression(sql: "(SELECT count(*) FROM \(Car.self)) > 0"))
      var counts: [Int] = []
      for try await next in count.updates(in: pool) {
        counts.append(next)
        if next == 1 { break }
        try await Car(name: "Zoe", price: 1, isElectric: true).insert().run(pool)
      }
      #expect(counts == [0, 1])
      try await pool.close()
    }
  }
}

private enum Counted: TableDeclaration {
  static let id = Column("id", .integer, PrimaryKey())
  static let columns = [id]
  static let indexes = [Index(SqlExpression(sql: "\(Counted.id) + (SELECT 1)"))]
}
