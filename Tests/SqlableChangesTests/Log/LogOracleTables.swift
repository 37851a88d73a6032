import SqlableCore

@testable import SqlableChanges
@testable import SqlableTestSupport

/// The tables of the oracle: all forms of keys, unique indexes and foreign keys on which the log's triggers depend.
enum OracleTable: String, CaseIterable {
  case a, b, c, d, e, f, h

  static let definitions = [
    """
    CREATE TABLE a(id INTEGER PRIMARY KEY, x TEXT UNIQUE COLLATE NOCASE, y,
    p INTEGER REFERENCES a(id) ON DELETE CASCADE ON UPDATE CASCADE)
    """,
    """
    CREATE TABLE b(k TEXT, l INTEGER, x NOT NULL DEFAULT 7, y REAL, PRIMARY KEY(k,l), UNIQUE(x)) WITHOUT ROWID
    """,
    """
    CREATE TABLE c(k TEXT PRIMARY KEY, a_id INTEGER REFERENCES a(id) ON DELETE SET NULL ON UPDATE CASCADE, x,
    g GENERATED ALWAYS AS (x || k) VIRTUAL)
    """,
    "CREATE TABLE d(id INTEGER PRIMARY KEY, x, y, z)",
    "CREATE TABLE e(id INTEGER PRIMARY KEY AUTOINCREMENT, x, y, z UNIQUE ON CONFLICT REPLACE)",
    """
    CREATE TABLE f(id INTEGER PRIMARY KEY, x TEXT COLLATE NOCASE, y INTEGER NOT NULL DEFAULT 2, z,
    g GENERATED ALWAYS AS (x || 'g') VIRTUAL UNIQUE)
    """,
    // SQLite computes the generated column of an update from several columns.
    "CREATE TABLE h(id INTEGER PRIMARY KEY, x, y, z, g AS (x || '/' || y) UNIQUE)",
    "CREATE UNIQUE INDEX h_g ON h(g || z)",
    "CREATE UNIQUE INDEX d_x ON d(lower(x))",
    // Updates rows that the insert replaces.
    """
    CREATE TRIGGER f_count BEFORE INSERT ON f
    BEGIN UPDATE f SET z = CAST(z AS INTEGER) + 1 WHERE id > new.id OR x = new.x; END
    """,
  ]

  /// Indexes that another program creates after the log.
  static let lateIndexes = [
    "CREATE UNIQUE INDEX d_y ON d(y) WHERE z > 3",
    // The values depend on the collation and the affinity of the columns.
    "CREATE UNIQUE INDEX f_x ON f(CASE WHEN x = 'a' OR x = 5 THEN 1 END)",
    "CREATE UNIQUE INDEX f_y ON f(CASE WHEN y < '4' THEN y END, lower(x))",
  ]

  var columns: [String] {
    switch self {
    case .a: ["id", "x", "y", "p"]
    case .b: ["k", "l", "x", "y"]
    case .c: ["k", "a_id", "x", "g"]
    case .d, .e: ["id", "x", "y", "z"]
    case .f, .h: ["id", "x", "y", "z", "g"]
    }
  }

  /// The columns that statements set, some by a name of the rowid.
  fileprivate var settable: [String] {
    switch self {
    case .a: columns + ["rowid"]
    case .b, .e: columns
    case .c: ["k", "a_id", "x", "rowid"]
    case .d: columns + ["_rowid_"]
    case .f: ["id", "x", "y", "oid"]
    case .h: ["id", "x", "y", "z"]
    }
  }

  fileprivate var targets: [String] {
    switch self {
    case .a: ["(id)", "(x)", ""]
    case .b: ["(k,l)", "(x)", ""]
    case .c: ["(k)", ""]
    case .d: ["(id)", "(lower(x))", "(y) WHERE z>3", ""]
    case .e: ["(id)", ""]
    case .f, .h: ["(id)", "(g)", ""]
    }
  }

  /// The number of the columns by which a copy finds a row; nil for a table whose keys can be NULL.
  var keyLength: Int? {
    switch self {
    case .a, .d, .e, .f, .h: 1
    case .b: 2
    case .c: nil
    }
  }
}

protocol DeclaredOracleTable: TableDeclaration { static var table: OracleTable { get } }

extension DeclaredOracleTable {
  static var name: String { table.rawValue }
}

extension OracleTable {
  /// The declarations of the columns. The name and the line identify a column.
  private static let declared = Dictionary(
    allCases.enumerated().map { number, table in
      let columns = table.columns.enumerated().map { position, name in
        position == 0
          ? Column(name, .integer, PrimaryKey(), line: UInt(number))
          : Column(name, .nullable(.blob), line: UInt(number))
      }
      return (table, columns)
    }
  ) { $1 }

  var declarations: [Column] { OracleTable.declared[self] ?? [] }
}

struct TableA: DeclaredOracleTable { static let (table, columns) = (OracleTable.a, OracleTable.a.declarations) }
struct TableB: DeclaredOracleTable { static let (table, columns) = (OracleTable.b, OracleTable.b.declarations) }
struct TableC: DeclaredOracleTable { static let (table, columns) = (OracleTable.c, OracleTable.c.declarations) }
struct TableD: DeclaredOracleTable { static let (table, columns) = (OracleTable.d, OracleTable.d.declarations) }
struct TableE: DeclaredOracleTable { static let (table, columns) = (OracleTable.e, OracleTable.e.declarations) }
struct TableF: DeclaredOracleTable { static let (table, columns) = (OracleTable.f, OracleTable.f.declarations) }
struct TableH: DeclaredOracleTable { static let (table, columns) = (OracleTable.h, OracleTable.h.declarations) }

/// A log of all tables of the oracle.
struct OracleLog {
  /// The columns that the log keeps of each table, in the order of the table.
  let columns: [OracleTable: [String]]
  let log: ChangeLog

  /// Makes a log of rows, or of random columns.
  init(_ random: inout SeededGenerator) {
    let isOfRows = random.chance(40)
    var (kept, chosen): ([OracleTable: [String]], [Column]) = ([:], [])
    for table in OracleTable.allCases {
      let columns = isOfRows ? table.declarations : table.declarations.filter { _ in random.chance(40) }
      // A log of chosen columns needs at least one column of each table. The key is kept anyway.
      chosen += columns.isEmpty ? [table.declarations[0]] : columns
      let (names, key) = (columns.map(\.name), table.columns.prefix(table.keyLength ?? 1))
      kept[table] = table.columns.filter { key.contains($0) || names.contains($0) }
    }
    columns = kept
    log = ChangeLog(
      Entry<TableA>.self, Entry<TableB>.self, Entry<TableC>.self, Entry<TableD>.self, Entry<TableE>.self,
      Entry<TableF>.self, Entry<TableH>.self, keeping: isOfRows ? .rows : .init(storage: .columns(Set(chosen))))
  }
}

extension SeededGenerator {
  private mutating func number() -> String { "\(Int.random(in: 1...6, using: &self))" }

  private mutating func value() -> String {
    chance(50) ? number() : pick(["NULL", "'a'", "'A'", "'b'", "1.0", "2.5", "x'01'", "0"])
  }

  private mutating func value(of column: String) -> String {
    ["id", "p", "l", "a_id", "rowid", "_rowid_", "oid"].contains(column) ? number() : value()
  }

  private mutating func row(of table: OracleTable) -> String {
    let key = chance(50) ? number() : "NULL"
    let values =
      switch table {
      case .a: [key, value(), value(), chance(50) ? number() : "NULL"]
      case .b: [pick(["1", "2"]), number(), value(), value()]
      case .c: [value(), key, value()]
      case .d, .e, .f, .h: [key, value(), value(), value()]
      }
    return "(\(values.joined(separator: ", ")))"
  }

  private mutating func condition(on columns: [String]) -> String {
    let (column, sign) = (pick(columns), pick(["=", "<"]))
    return chance(30) ? "" : " WHERE \(column) \(sign) \(chance(60) ? number() : value())"
  }

  /// A statement that changes rows or controls the transaction.
  mutating func statement() -> String {
    let table = pick(OracleTable.allCases)
    let policy = pick(["", "", "OR REPLACE ", "OR REPLACE ", "OR IGNORE ", "OR FAIL ", "OR ABORT "])
    let columns = table.settable
    switch Int.random(in: 0..<10, using: &self) {
    case 0...4:
      let names = table.columns.filter { $0 != "g" }.joined(separator: ", ")
      let rows = (0..<Int.random(in: 1...3, using: &self)).map { _ in row(of: table) }.joined(separator: ", ")
      return "INSERT \(policy)INTO \(table)(\(names)) VALUES \(rows)\(chance(30) ? upsert(table) : "")"
    case 5...6:
      let (first, second) = (pick(columns), pick(columns))
      let new = pick([value(of: first), "\(first)+1", "(\(first)+1)%7"])
      let isOne = first == second || ![first, second].contains { !["id", "rowid", "_rowid_", "oid"].contains($0) }
      let more = isOne ? "" : ", \(second) = \(value(of: second))"
      return "UPDATE \(policy)\(table) SET \(first) = \(new)\(more)\(condition(on: columns))"
    case 7...8:
      let condition = condition(on: columns)
      return condition.isEmpty && chance(70) ? "SELECT 1" : "DELETE FROM \(table)\(condition)"
    default:
      return pick(["SAVEPOINT s", "ROLLBACK TO s", "RELEASE s", "BEGIN", "BEGIN", "COMMIT", "COMMIT", "ROLLBACK"])
    }
  }

  private mutating func upsert(_ table: OracleTable) -> String {
    let (target, column) = (pick(table.targets), pick(table.settable))
    guard !target.isEmpty, chance(70) else { return " ON CONFLICT\(target) DO NOTHING" }
    let isExcluded = chance(50) && !["rowid", "_rowid_", "oid"].contains(column)
    let new = isExcluded ? "excluded.\(column)" : value(of: column)
    return " ON CONFLICT\(target) DO UPDATE SET \(column) = \(new)"
  }
}
