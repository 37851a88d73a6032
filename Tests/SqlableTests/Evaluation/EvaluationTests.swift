import Foundation
import Sqlable
import Testing

/// The rules of SQL by which statements are evaluated in memory, each beside what SQLite makes of the same rows.
@Suite struct EvaluationTests {
  /// The rows of a query in memory, which must be those of a database.
  private func values<Row>(
    _ query: some SelectStatement<Row>, _ rows: [MemorySample], sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> [[DatabaseValue]] {
    let query = query.untyped
    let own = try query.evaluate(over: try MemoryTables(rows)).map(\.values)
    let db = try SqliteDatabase.inMemory()
    try db.createTable(MemorySample.self)
    try MemorySample.insert(rows).run(db)
    #expect(try query.run(db).map(\.values) == own, sourceLocation: sourceLocation)
    return own
  }

  /// The value of a term for one row.
  private func value(
    _ term: SqlExpression, _ row: MemorySample, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> DatabaseValue? {
    try values(MemorySample.select(term), [row], sourceLocation: sourceLocation).first?.first
  }

  private func sample(
    _ i: Int64? = nil, _ r: Double? = nil, t: String? = nil, n: String? = nil, s: String? = nil, b: Data? = nil,
    date: Date? = nil
  ) -> MemorySample {
    var row = MemorySample(id: 1)
    (row.i, row.r, row.t, row.n, row.s, row.b, row.date) = (i, r, t, n, s, b, date)
    return row
  }

  // MARK: Reads of structs

  @Test func readsFilterOrderAndLimitStructs() throws {
    let bikes = [
      Bicycle(id: 1, name: "Norco", color: "red"), Bicycle(id: 2, name: "Trek", color: "blue"),
      Bicycle(id: 3, name: "Giant", color: "red"),
    ]
    let reds = Bicycle.read().filter(Bicycle.color == "red")
    #expect(try reds.evaluate(over: bikes) == [bikes[0], bikes[2]])
    #expect(try reds.orderBy(Bicycle.name).evaluate(over: bikes) == [bikes[2], bikes[0]])
    #expect(try Bicycle.read().limit(1, offset: 1).evaluate(over: bikes) == [bikes[1]])
    #expect(try Bicycle.byId(3).evaluate(over: bikes) == bikes[2])
    #expect(try Bicycle.byId(4).evaluate(over: bikes) == nil)
    #expect(try reds.first().evaluate(over: bikes) == bikes[0])
    #expect(try Bicycle.count().filter(Bicycle.color == "red").evaluate(over: bikes) == 2)
    #expect(try Bicycle.count().limit(1).evaluate(over: bikes) == 1)
    #expect(try Bicycle.exists().filter(Bicycle.color == "green").evaluate(over: bikes) == false)
    #expect(try Bicycle.read().in("archive").evaluate(over: bikes) == bikes)
  }

  @Test func rowsThatNoOrderDistinguishesKeepTheirs() throws {
    let bikes = (1...40).map { Bicycle(id: 41 - $0, name: "\($0)", color: $0 % 2 == 0 ? "red" : "blue") }
    #expect(try Bicycle.read().evaluate(over: bikes) == bikes)
    let ordered = try Bicycle.read().orderBy(Bicycle.color).evaluate(over: bikes)
    #expect(ordered == bikes.filter { $0.color == "blue" } + bikes.filter { $0.color == "red" })
  }

  @Test func structsAreStoredAsAnInsertStoresThem() throws {
    let bikes = [Bicycle(id: nil, name: "a", color: "red"), Bicycle(id: 7, name: "b", color: "red")]
    let more = bikes + [Bicycle(id: nil, name: "c", color: "red")]
    #expect(try Bicycle.read().evaluate(over: more).map(\.id) == [1, 7, 8])
    var car = Car(id: nil, name: "a", price: .nan, isElectric: true, soldAt: nil)
    let error = expectSqlError { _ = try Car.read().evaluate(over: [car]) }
    if case .encoding = error?.kind {} else { Issue.record("\(String(describing: error))") }
    car.price = .infinity
    #expect(try Car.read().filter(Car.price > 1e300).evaluate(over: [car]).count == 1)
  }

  @Test func aMissingValueOfAColumnThatIsNotNullThrows() throws {
    struct Strict: Sqlable {
      static let id = Column("id", .integer, PrimaryKey())
      static let name = Column("name", .text)
      static let kind = Column("kind", .text, Default("plain"))
      static let tableLayout = [id, name, kind]
      var name: String?
      var kind = ""
      init(name: String?) { self.name = name }
      init(row: ReadRow) throws {
        name = try row.get(Strict.name)
        kind = try row.get(Strict.kind)
        row.skip(Strict.id)
      }
      func write(to row: inout RowWriter) throws {
        row.skip(Strict.id)
        row.set(Strict.name, name)
        row.skip(Strict.kind)
      }
    }
    #expect(try Strict.read().evaluate(over: [Strict(name: "a")]).map(\.kind) == ["plain"])
    let error = expectError(.constraint(.notNull)) { _ = try Strict.read().evaluate(over: [Strict(name: nil)]) }
    #expect(error?.message == "NOT NULL constraint failed: strict.name" && error?.column == "name")
  }

  // MARK: Values

  @Test func integersOverflowToRealAndZeroDividesToNull() throws {
    let row = sample(.max, 0.5, t: "x")
    #expect(try value(MemorySample.i + 1, row) == .real(9_223_372_036_854_775_808))
    #expect(try value(-MemorySample.i - 2, row) == .real(-9_223_372_036_854_775_808))
    #expect(try value(MemorySample.i * MemorySample.i, row) == .real(8.507059173023462e37))
    #expect(try value(MemorySample.i / (MemorySample.i - MemorySample.i), row) == .null)
    #expect(try value(MemorySample.i % MemorySample.r, row) == .null)
    #expect(try value(MemorySample.i.bitOr(0), row) == .integer(.max))
    #expect(try value(MemorySample.i == MemorySample.i.cast(to: Double.self), row) == .integer(0))
    let rows = [
      row,
      {
        var other = row
        other.id = 2
        return other
      }(),
    ]
    let tables = try MemoryTables(rows)
    let error = expectError(.other) { _ = try MemorySample.select(MemorySample.i.sum()).evaluate(over: tables) }
    #expect(error?.message == "integer overflow")
    expectError(.other) {
      _ = try MemorySample.select((MemorySample.i - MemorySample.i + Int64.min).abs()).evaluate(over: tables)
    }
  }

  @Test func infinitiesAndTheNumbersBetween() throws {
    let row = sample(1, .infinity)
    #expect(try value(MemorySample.r - MemorySample.r, row) == .null)
    #expect(try value(MemorySample.r > Int64.max, row) == .integer(1))
    #expect(try value(-MemorySample.r < MemorySample.i, row) == .integer(1))
    #expect(try value(MemorySample.r.cast(to: Int.self), row) == .integer(.max))
    #expect(try value(MemorySample.r.cast(to: String.self), row) == .text("Inf"))
  }

  @Test func textIsANumberWhereItsColumnIsOne() throws {
    let row = sample(12, 1.5, t: "12", b: Data("12".utf8))
    #expect(try value(MemorySample.t.cast(to: Int.self) == MemorySample.i, row) == .integer(1))
    #expect(try value(MemorySample.t.cast(to: String.self).isDistinct(from: MemorySample.i), row) == .integer(0))
    #expect(try value(MemorySample.b.isDistinct(from: MemorySample.t), row) == .integer(1))
    #expect(try value(TypedExpression("12abc").cast(to: Int.self).expression, row) == .integer(12))
    #expect(try value(TypedExpression(" 1e2x").cast(to: Double.self).expression, row) == .real(100))
    #expect(try value(MemorySample.r.cast(to: String.self), row) == .text("1.5"))
  }

  @Test func textIsComparedByTheCollationOfItsColumn() throws {
    let row = sample(t: "Ä b", n: "äB", s: "x  ")
    #expect(try value(MemorySample.n == "äb", row) == .integer(1))
    #expect(try value(MemorySample.n == "Äb", row) == .integer(0))
    #expect(try value(MemorySample.s == "x", row) == .integer(1))
    #expect(try value(MemorySample.t == MemorySample.s, row) == .integer(0))
    #expect(try value(MemorySample.n.collate(.binary) == "äb", row) == .integer(0))
    #expect(try value(MemorySample.n.concatenated("") == "äb", row) == .integer(0))
    let rows = ["b", "A", "a", "B"].enumerated().map { sample($0, n: $1) }
    #expect(
      try values(MemorySample.read().orderBy(MemorySample.n).orderBy(MemorySample.id).select(MemorySample.n), rows)
        == [[.text("A")], [.text("a")], [.text("b")], [.text("B")]])
    #expect(try values(MemorySample.select(MemorySample.n.count(distinct: true)), rows) == [[.integer(2)]])
  }

  private func sample(_ id: Int, n: String) -> MemorySample {
    var row = MemorySample(id: id + 1)
    row.n = n
    return row
  }

  @Test func aNulEndsSomeFunctionsAndNotOthers() throws {
    let row = sample(t: "aB\0c", n: "x\0a")
    #expect(try value(MemorySample.t.length(), row) == .integer(2))
    #expect(try value(MemorySample.t.uppercase(), row) == .text("AB\0C"))
    #expect(try value(MemorySample.t.substr(2), row) == .text("B"))
    #expect(try value(MemorySample.t.instr("c"), row) == .integer(4))
    #expect(try value(MemorySample.t.like("ab"), row) == .integer(1))
    #expect(try value(MemorySample.t.glob("a?"), row) == .integer(1))
    #expect(try value(MemorySample.t.hex(), row) == .text("61420063"))
    #expect(try value(MemorySample.t.replace("\0", with: "-"), row) == .text("aB\0c"))
    #expect(try value(MemorySample.t.contains("b\0"), row) == .integer(1))
    // NOCASE compares up to a NUL, and then the lengths.
    #expect(try value(MemorySample.n == "X\0b", row) == .integer(1))
    #expect(try value(MemorySample.n == "X\0bb", row) == .integer(0))
  }

  @Test(arguments: [
    ("a%", "!", "ABC", true), ("a!%", "!", "a%", true), ("a!%", "!", "ab", false), ("_é_", "!", "xéy", true),
    ("%%_c", "!", "abc", true), ("É", "!", "é", false), ("%_%", "%", "%_%", false), ("", "!", "", true),
  ])
  func likePatterns(_ pattern: String, _ escape: String, _ text: String, _ matches: Bool) throws {
    let term = MemorySample.t.like(pattern, escape: Character(escape))
    #expect(try value(term, sample(t: text)) == .integer(matches ? 1 : 0))
  }

  @Test(arguments: [
    ("a*", "abc", true), ("A*", "abc", false), ("[a-c]?", "bx", true), ("[^a-c]", "b", false), ("[]]", "]", true),
    ("[", "[", false), ("*[0-9]", "abc7", true), ("a[*]", "a*", true), ("[a-]", "-", true), ("??", "é", false),
  ])
  func globPatterns(_ pattern: String, _ text: String, _ matches: Bool) throws {
    #expect(try value(MemorySample.t.glob(pattern), sample(t: text)) == .integer(matches ? 1 : 0))
  }

  @Test(arguments: [MemorySample.real, MemorySample.seconds, MemorySample.milliseconds, MemorySample.iso])
  func datesInTheFormOfTheirColumn(_ column: Column) throws {
    // 2024-01-31 13:45:30 UTC, a Wednesday.
    let row = sample(date: Date(timeIntervalSince1970: 1_706_708_730))
    #expect(try value(column.year(), row) == .integer(2024))
    #expect(try value(column.weekday(), row) == .integer(3))
    #expect(try value(column.strftime("%d.%m.%Y %H:%M:%S %j %W"), row) == .text("31.01.2024 13:45:30 031 05"))
    #expect(try value(column.adding(1, .month).date(), row) == .text("2024-03-02"))
    #expect(try value(column.adding(-90, .minute).strftime("%H:%M"), row) == .text("12:15"))
    #expect(try value(column.strftime("%Q"), row) == .null)
    #expect(try value(column.year(), sample()) == .null)
    #expect(try value(column < Date(timeIntervalSince1970: 1_706_708_731), row) == .integer(1))
  }

  @Test func conditionsHaveThreeValues() throws {
    let row = sample(1)
    let (yes, no, unknown) = (MemorySample.i == 1, MemorySample.i == 2, MemorySample.r == 1)
    #expect(try value(yes && unknown, row) == .null)
    #expect(try value(no && unknown, row) == .integer(0))
    #expect(try value(yes || unknown, row) == .integer(1))
    #expect(try value(!unknown, row) == .null)
    #expect(try value(MemorySample.r.in([1.0]), row) == .null)
    #expect(try value(MemorySample.r.in([Double]()), row) == .integer(0))
    #expect(try value(MemorySample.i.in([2, nil as Int?].compactMap { $0 }), row) == .integer(0))
    #expect(try value(MemorySample.r.isNull, row) == .integer(1))
    #expect(try value(MemorySample.i.between(0, and: 2), row) == .integer(1))
    #expect(try values(MemorySample.read().filter(unknown), [row]).isEmpty)
  }

  @Test func tablesWithoutRowsAndRowsWithoutValues() throws {
    let totals = MemorySample.select(
      countAll().expression, MemorySample.i.sum(), MemorySample.i.total(), MemorySample.i.average(),
      MemorySample.t.max(), MemorySample.t.groupConcat())
    #expect(try values(totals, []) == [[.integer(0), .null, .real(0), .null, .null, .null]])
    #expect(try values(totals, [sample()]) == [[.integer(1), .null, .real(0), .null, .null, .null]])
    #expect(try values(MemorySample.select(MemorySample.t).groupBy(MemorySample.t), []).isEmpty)
    #expect(try values(MemorySample.select(MemorySample.t).groupBy(MemorySample.t), [sample()]) == [[.null]])
    #expect(try MemorySample.read().evaluate(over: []).isEmpty)
  }

  @Test func textThatIsNotUTF8ThrowsWhenItIsRead() throws {
    let tables = try MemoryTables([sample(b: Data([0xFF]))])
    #expect(try MemorySample.select(MemorySample.b.cast(to: String.self).hex()).evaluate(over: tables).count == 1)
    expectDecoding("TEXT", "TEXT that is not valid UTF-8") {
      _ = try MemorySample.select(MemorySample.b.cast(to: String.self)).evaluate(over: tables)
    }
  }

  @Test func aDeepTermFitsIntoASmallStack() throws {
    let row = sample(1)
    try onThread(stackSize: smallStack) { () throws -> Void in
      var term = MemorySample.i.expression
      for _ in 0..<60 { term = term + 1 }
      let deep = MemorySample.read().filter(term.isNotNull)
      #expect(try deep.evaluate(over: [row]) == [row])
      var wide = MemorySample.i == 1
      for number in 0..<5_000 { wide = wide || MemorySample.i == number }
      #expect(try MemorySample.read().filter(wide).evaluate(over: [row]) == [row])
      for _ in 0..<400 { term = -term }
      expectInvalidStatement { _ = try MemorySample.read().filter(term == 1).evaluate(over: [row]) }
    }
  }
}
