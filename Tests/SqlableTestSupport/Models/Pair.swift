import SqlableCodable
import SqlableCore
import SqlableSchema

/// A row of optional and required numbers and texts.
struct Pair: SqlCodable, Equatable {
  let id: Int
  var a: Int?
  var b: Int?
  var c: Int
  var s: String?
  var t = ""
  static let id = column("id", Int.self, PrimaryKey())
  static let a = column("a", Int?.self)
  static let b = column("b", Int?.self)
  static let c = column("c", Int.self)
  static let s = column("s", String?.self)
  static let t = column("t", String.self)
  static let tableLayout = [id.column, a.column, b.column, c.column, s.column, t.column]

  /// Every combination of numbers and texts, including NULL.
  static let all: [Pair] = {
    var pairs: [Pair] = []
    let texts: [String?] = [nil, "", "A", "a"]
    for (index, a) in [nil, -1, 0, 2].enumerated() {
      for (other, b) in [nil, -1, 0, 2].enumerated() {
        for (c, t) in zip([-1, 0, 2], ["", "A", "a"]) {
          pairs.append(Pair(id: pairs.count, a: a, b: b, c: c, s: texts[(index + other) % 4], t: t))
        }
      }
    }
    return pairs
  }()
}

/// Calls `body` with a table of the pairs.
func withPairs(_ pairs: [Pair] = Pair.all, _ body: (SqliteDatabase) throws -> Void) throws {
  try withDatabase { db in
    try db.createTable(Pair.self)
    try Pair.insert(pairs).run(db)
    try body(db)
  }
}
