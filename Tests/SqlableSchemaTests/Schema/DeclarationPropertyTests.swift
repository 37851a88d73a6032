import SqlableCore
import SqlableQueries
import Testing

@testable import SqlableSchema
@testable import SqlableTestSupport

/// A part of a declaration: a column, constraints of the table, indexes.
private protocol Part: Sendable {
  static var column: Column { get }
  static var constraints: [TableConstraint] { get }
  static var indexes: [Index] { get }
}

extension Part {
  static var constraints: [TableConstraint] { [] }
  static var indexes: [Index] { [] }
}

/// A table that combines arbitrary parts.
private enum Whole<Key: Part, First: Part, Second: Part>: TableDeclaration {
  static var name: String { "whole" }
  static var columns: [Column] { [Key.column, First.column, Second.column, plain, number] }
  static var constraints: [TableConstraint] { Key.constraints + First.constraints + Second.constraints }
  static var indexes: [Index] { Key.indexes + First.indexes + Second.indexes }
}

private let plain = Column("plain", .nullable(.text))
private let number = Column("number", .nullable(.integer))

private enum Parent: TableDeclaration {
  static let name = "parent"
  static let columns = [Column("id", .integer, PrimaryKey()), Column("code", .text, Unique())]
}

/// Property tests: a created table has every declared part, and the schema reads back as declared.
@Suite struct DeclarationPropertyTests {
  private let keys: [any Part.Type] = [
    Keys.Rowid.self, Keys.Counted.self, Keys.Replacing.self, Keys.Text.self, Keys.Downwards.self, Keys.Composite.self,
    Keys.None.self,
  ]
  private let firsts: [any Part.Type] = [
    Firsts.Bare.self, Firsts.Policies.self, Firsts.Checks.self, Firsts.Reference.self, Firsts.Computed.self,
    Firsts.Indexed.self, Firsts.Typed.self, Firsts.Partial.self,
  ]
  private let seconds: [any Part.Type] = [
    Seconds.Bare.self, Seconds.Uniques.self, Seconds.Named.self, Seconds.References.self,
  ]

  private func eachOfSome(_ count: Int, _ body: (any Sqlable.Type) throws -> Void) rethrows {
    var generator = SeededGenerator(seed: SeededGenerator.seed)
    for _ in 0..<times(count) {
      let (key, first, second) = (generator.pick(keys), generator.pick(firsts), generator.pick(seconds))
      try body(model(key, first, second))
    }
  }

  private func model<K: Part, F: Part, S: Part>(_: K.Type, _: F.Type, _: S.Type) -> any Sqlable.Type {
    Entry<Whole<K, F, S>>.self
  }

  private func expectSame(
    _ model: any Sqlable.Type, _ db: SqliteDatabase, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let schema = Schema(model)
    try schema.verify(db)
    #expect(try schema.differences(db).map(\.description) == [], "\(model)", sourceLocation: sourceLocation)
    #expect(try schema.plan(db).description == "nothing to change", "\(model)", sourceLocation: sourceLocation)
  }

  @Test func createdTableMatchesItsModel() throws {
    try eachOfSome(80) { model in
      let db = try SqliteDatabase.inMemory()
      try db.createTables(of: Schema(Entry<Parent>.self, model))
      try expectSame(model, db)
    }
  }

  @Test func planConvertsOneDeclarationToAnother() throws {
    var last: (any Sqlable.Type)?
    try eachOfSome(80) { model in
      defer { last = model }
      guard let last else { return }
      let db = try SqliteDatabase.inMemory()
      try db.createTables(of: Schema(Entry<Parent>.self, last))
      let schema = Schema(model)
      let filling: [String: any SqlValue] = ["whole.first": 1, "whole.second": "x"]
      let dropping: SchemaDropping = [.columns, .indexes]
      let notRenamed: Set = ["whole.id", "whole.key", "whole.first", "whole.second"]
      let plan = try schema.plan(db, notRenamed: notRenamed, filling: filling, dropping: dropping)
      try db.running { connection in
        let answers = SchemaPlanner.Answers(notRenamed: notRenamed, filling: filling, dropping: dropping)
        var planner = try SchemaPlanner(connection, functions: nil, answers: answers)
        #expect(try planner.plan(for: schema) == plan)
        let copied = try planner.copy.connection.schema()
        #expect(planner.changed == copied)
        #expect(planner.changed.tables.map(\.sql) == copied.tables.map(\.sql))
      }
      try plan.apply(db, allowing: .dataLoss)
      try expectSame(model, db)
    }
  }
}

extension DeclarationPropertyTests {
  private func columns(_ db: SqliteDatabase) throws -> [DatabaseSchema.Column] {
    try #require(db.schema()[table: "whole"]).columns
  }

  private func rows(_ db: SqliteDatabase, _ columns: [String]) throws -> [[DatabaseValue]] {
    let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
    return try db.query(SQL(verbatim: "SELECT \(names) FROM whole ORDER BY number"), as: DynamicRow.self).map(\.values)
  }

  /// Inserts random rows; rows that violate a constraint are skipped.
  private func fill(_ db: SqliteDatabase, _ random: inout SeededGenerator) throws {
    let columns = try columns(db).filter { $0.generated == nil }
    try db.execute("INSERT INTO parent VALUES (1, '1'), (2, '2'), (3, 'x')")
    for number in 1...Int.random(in: 1...12, using: &random) {
      let values = columns.map { column in
        if column.name == "number" { return "\(number)" }
        if column.name == "id" { return "\(number * 3 - 7)" }
        return random.pick([
          "NULL", "1", "2", "3", "'x'", "'1'", "'1.5'", "'04'", "x'00'", "9007199254740993", "\(number)",
        ])
      }
      try? db.execute(SQL(verbatim: "INSERT INTO whole VALUES (\(values.joined(separator: ", ")))"))
    }
  }

  @Test func aPlanKeepsEveryRowOrChangesNothing() throws {
    var (last, random): ((any Sqlable.Type)?, SeededGenerator) = (nil, SeededGenerator(seed: SeededGenerator.seed))
    var (applied, refused) = (0, 0)
    try eachOfSome(300) { model in
      defer { last = model }
      guard let last else { return }
      let db = try SqliteDatabase.inMemory()
      try db.createTables(of: Schema(Entry<Parent>.self, last))
      try fill(db, &random)
      let old = try columns(db)
      let before = try (db.schema(), rows(db, old.map(\.name)))
      let filling: [String: any SqlValue] = random.chance(50) ? ["whole.first": 1, "whole.second": "x"] : [:]
      let isRefused = sqlError {
        let notRenamed: Set = ["whole.id", "whole.key", "whole.first", "whole.second"]
        try Schema(model).plan(db, notRenamed: notRenamed, filling: filling).apply(db)
      }
      guard isRefused == nil else {
        refused += 1
        #expect(try before == (db.schema(), rows(db, old.map(\.name))), "\(last) → \(model)")
        return
      }
      applied += 1
      let new = try columns(db)
      // A plan drops no column silently. A generated column has other values.
      for column in old where column.generated == nil {
        let now = try #require(new.first { $0.name == column.name })
        #expect(now.generated == nil)
        let place = try #require(old.firstIndex(of: column))
        let was: [DatabaseValue] = before.1.map { $0[place] }
        let values: [DatabaseValue] = try rows(db, [column.name]).map { $0[0] }
        let filled = try filling["whole.\(column.name)"]?.databaseValue
        let kept = zip(was, values).allSatisfy { (old: DatabaseValue, new: DatabaseValue) -> Bool in
          if old == new || (old == .null && new == filled) { return true }
          return column.type != now.type && "\(old)".number == "\(new)".number
        }
        #expect(was.count == values.count, "\(last) → \(model): \(column.name) \(was) \(values)")
        #expect(kept, "\(last) → \(model): \(column.name) \(was) \(values)")
      }
      #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
      #expect(try db.query("PRAGMA foreign_key_check", as: DynamicRow.self).isEmpty)
    }
    // A sanitizer run makes fewer rounds.
    #expect(applied > times(300) / 30)
    #expect(refused > times(300) / 30)
  }
}

extension String {
  /// The number in a value's description.
  fileprivate var number: Double? {
    Double(drop { $0 != "(" }.filter { "0123456789.-e+".contains($0) })
  }
}

private enum Keys {
  enum Rowid: Part { static let column = Column("id", .integer, PrimaryKey()) }
  enum Counted: Part { static let column = Column("id", .integer, PrimaryKey(autoincrement: true, name: "k")) }
  enum Replacing: Part {
    static let column = Column("id", .integer, PrimaryKey(autoincrement: true, onConflict: .replace))
  }
  enum Text: Part { static let column = Column("key", .text, PrimaryKey(onConflict: .ignore), Collate.nocase) }
  enum Downwards: Part { static let column = Column("id", .integer, PrimaryKey(descending: true, onConflict: .ignore)) }
  enum Composite: Part {
    static let column = Column("key", .text)
    static let constraints: [TableConstraint] = [
      PrimaryKeys(column, number.desc, onConflict: .replace, name: "the \"key\"")
    ]
  }
  enum None: Part { static let column = Column("key", .nullable(.real)) }
}

private enum Firsts {
  enum Bare: Part { static let column = Column("first", .integer) }
  enum Policies: Part {
    static let column = Column(
      "first", .integer, NotNull(onConflict: .ignore, name: "there"), Unique(onConflict: .ignore, name: "one"),
      Default(-7))
  }
  enum Checks: Part {
    static let column = Column("first", .integer, Check("first <> 0", name: "not 0"), Check("first <> 100"))
    static let constraints: [TableConstraint] = [
      Check("first <> number OR plain = 'a''b'", name: "x'y"), Check("first % 3 <> 2"),
    ]
  }
  enum Reference: Part {
    static let column = Column(
      "first", .nullable(.integer), ForeignKey<Entry<Parent>>(onDelete: .setNull, deferred: true, name: "up"))
  }
  enum Computed: Part {
    static let column = Column("first", .nullable(.integer), Generated("number * 2", stored: true))
  }
  enum Indexed: Part {
    static let column = Column("first", .integer)
    static let indexes = [Index(column), Index(plain.desc, column, unique: true, name: "an \"index\"")]
  }
}

extension Firsts {
  enum Typed: Part {
    static var column: Column {
      Column(
        "first", .integer, Check(number != 7 || plain.in(["a'b", "?", "c"]), name: "typed"), Generated(number + 0.1))
    }
    static let constraints: [TableConstraint] = [
      Check(number.isNull || number.between(-3, and: 3_000_000_000)), Check(plain.like("%\"?'%"), name: "like"),
    ]
  }
  enum Partial: Part {
    static let column = Column("first", .integer)
    static let indexes = [
      Index(column, plain.lowercase().desc, where: number == -1), Index(number, unique: true, where: plain.isNull),
      Index((number * 0.1).asc, plain.collate(.nocase).desc, name: "terms"),
      Index(IndexColumn(sql: "first + 1"), where: "plain <> '?'"),
    ]
  }
}

private enum Seconds {
  enum Bare: Part { static let column = Column("second", .text) }
  enum Uniques: Part {
    static let column = Column("second", .text, Collate.rtrim)
    static let constraints: [TableConstraint] = [
      Unique(column, plain.desc, onConflict: .replace, name: "both"), Unique(number, plain),
    ]
  }
  enum Named: Part {
    static let column = Column("second", .text, NotNull(name: "a"), Unique(name: "b"), Check("second <> ''", name: "d"))
  }
  enum References: Part {
    static let column = Column("second", .nullable(.text))
    static let constraints: [TableConstraint] = [
      ForeignKeys([column], to: Entry<Parent>.self, [Column("code", .text)], onUpdate: .cascade, name: "code")
    ]
  }
}
