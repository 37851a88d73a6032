import Foundation
import SqlableCore
import SqlableDocuments
import SqlablePolicies
import SqlableSchema

// Tests/Fuzzing has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlablePoliciesTestSupport
@testable import SqlableTestSupport
#endif

// The databases of a trial, and its policies.

extension DocumentTrial {
  /// Returns the root pages of each table and its indexes.
  static func roots(_ db: SqliteDatabase) throws -> [String: [Int]] {
    let pages = try db.query("SELECT tbl_name, rootpage FROM sqlite_schema", as: String.self, Int.self)
    return Dictionary(grouping: pages, by: \.0).mapValues { $0.map(\.1) }
  }

  /// A query for the rows that the policy of changes hides, as one text.
  static let hidden = """
    SELECT (SELECT group_concat(quote(id) || quote(name) || quote(color) || quote(owner_id)) FROM bicycle
      WHERE id IN (2, 4)) || (SELECT group_concat(quote(id) || quote(name)) FROM person WHERE id <> 1)
    """

  /// Creates a database. Databases with different numbers differ only in rows that the policies hide.
  static func database(hidden number: Int) throws -> SqliteDatabase {
    let db = try SqliteDatabase.inMemory()
    try db.register(ScalarFunction("twice", isDeterministic: true) { (number: Int) -> Int in number &* 2 })
    try db.register(Collation("own") { $0.lowercased().compare($1.lowercased()) })
    for model in models { try db.createTable(model) }
    // No foreign key: with one, a change of a person would read this table.
    try db.execute(
      """
      CREATE TABLE archive (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
        color TEXT NOT NULL DEFAULT 'black', owner_id INTEGER, UNIQUE (name, color))
      """)
    try db.execute("CREATE TABLE secret (id INTEGER PRIMARY KEY, name TEXT)")
    try db.transaction { db in try fill(db, hidden: number) }
    return db
  }

  private static func fill(_ db: SqliteDatabase, hidden number: Int) throws {
    try Person.insert([Person(id: 1, name: "Anna"), Person(id: 2, name: number == 1 ? "Bo" : "Xi")]).run(db)
    try Bicycle.insert([
      Bicycle(id: 1, name: "Norco", color: "red", ownerId: 1),
      Bicycle(id: 3, name: "Giant", color: "red", ownerId: 1),
      Bicycle(id: 2, name: number == 1 ? "Trek" : "norco", color: number == 1 ? "blue" : "red", ownerId: 2),
      // One of the hidden names is no regular expression.
      Bicycle(id: 4, name: number == 1 ? "Kona" : "(Aha", color: "green"),
      Bicycle(id: 5, name: #"{"a":[1,{"b":2}]}"#, color: "", ownerId: 1),
    ]).run(db)
    try Bicycle.insert([Bicycle(id: 9, name: "Old", color: "red", ownerId: 1)]).in("archive").run(db)
    try Worker.insert([
      Worker(id: 1, name: "Ada", bossId: nil, salary: 10), Worker(id: 2, name: "Ben", bossId: 1, salary: 5),
      Worker(id: 3, name: "Cleo", bossId: 1, salary: -7.5),
    ]).run(db)
    try Car.insert([
      Car(name: "Leaf", price: 1e4, isElectric: true, soldAt: Date(timeIntervalSince1970: 1_706_702_400.5)),
      Car(name: #"["a"]"#, price: 0, isElectric: false, soldAt: nil),
    ]).run(db)
    try Seat.insert([Seat(row: 1, letter: "A"), Seat(row: 1, letter: "B", price: .infinity)]).run(db)
    try Story.insert([Story(1, "Swift", "a swift text"), Story(2, "SQL", nil, year: 2020)]).run(db)
    try Memo.insert([Memo(1, "swift", "more of swift", stars: 3), Memo(2, "other")]).run(db)
    try Hostile.insert([Hostile(id: 1, text: "'", other: "\0"), Hostile(text: nil, other: nil)]).run(db)
    let names = ["a", "b", "ab", "B", "%", "x_y"]
    for id in 1...8 {
      let isOwn = id % 3 > 0
      let name = names[(isOwn ? id : id * number + 1) % names.count]
      try Account(
        id: id, tenant: isOwn ? 1 : 2, name: name, color: id % 4 == 0 ? nil : name, owed: Double(id * number % 5),
        note: number == 1 ? "{}" : "no json"
      ).insert().run(db)
      try Payment(
        id: id, account: isOwn ? id % 4 + 1 : id * number % 7, tenant: isOwn ? 1 : 2,
        amount: isOwn ? id - 4 : id * number
      ).insert().run(db)
    }
  }

  /// Policies, each with the tables that it allows.
  static var policies: [(StatementPolicy, [String])] {
    let all = Set(StatementPolicy.Feature.allCases)
    let functions: Set = [
      "lower", "upper", "length", "abs", "coalesce", "round", "substr", "trim", "ltrim", "rtrim", "replace", "instr",
      "hex", "typeof", "unicode", "nullif", "scalarMin", "scalarMax",
    ]
    var wide = tenantPolicy(features: all)
    wide.functions = functions
    let changes = StatementPolicy(
      .table(Bicycle.self).readingAll()
        .filtering(Bicycle.id, Bicycle.name, Bicycle.color, Bicycle.ownerId, by: .equality, .comparison, .pattern)
        .sorting(Bicycle.id, Bicycle.name, Bicycle.color).setting(Bicycle.name, Bicycle.color)
        .rows(where: Bicycle.ownerId == 1),
      .table(Person.self).readingAll().filtering(Person.id, Person.name, by: .equality, .comparison)
        .setting(Person.name).rows(where: Person.id == 1),
      .table(Story.self).readingAll().filtering(Story.title, Story.body, by: .equality, .comparison, .pattern)
        .sorting(Story.id, Story.title).setting(Story.title, Story.body, Story.year, Story.slug),
      .table(Memo.self).readingAll().filtering(Memo.title, Memo.body, by: .equality, .pattern).sorting(Memo.rowid)
        .setting(Memo.title, Memo.body),
      kinds: Set(StatementKind.allCases), features: all, functions: functions, registered: ["twice", "own"])
    let policies = [
      (tenantPolicy(), ["account", "payment"]), (wide, ["account", "payment"]),
      (changes, ["bicycle", "person", "story", "memo"]),
    ]
    return policies.map { policy, tables in
      var policy = policy
      (policy.limits.steps, policy.limits.time, policy.limits.valueBytes) = (300_000, .seconds(5), 1_000_000)
      return (policy, tables)
    }
  }
}
