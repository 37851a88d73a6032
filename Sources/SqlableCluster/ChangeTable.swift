#if Cluster
import Sqlable

/// The table that records changed rows. Triggers on the observed tables insert into this table, in the writer's
/// transaction.
///
/// ```sql
/// CREATE TRIGGER "sqlable_change_bicycle_insert" AFTER INSERT ON "bicycle" BEGIN
///   INSERT INTO "sqlable_change" …
/// END
/// ```
struct ChangeTable {
  static let table = "sqlable_change"
  /// The minimum number of changes that the change table keeps.
  static let length = 100_000

  static let createTable = """
    CREATE TABLE IF NOT EXISTS "\(table)" ("number" INTEGER PRIMARY KEY AUTOINCREMENT, "table" TEXT NOT NULL, \
    "change" INTEGER NOT NULL, "id" INTEGER, "previousId" INTEGER, "key" TEXT, "previousKey" TEXT)
    """

  struct Key: Sendable {
    let columns: [String]
    /// The name of the rowid; nil for a table without a rowid.
    let rowid: String?
    let comparison: KeyComparison?

    init(ofTable table: String, on connection: Connection) throws {
      let shape = try connection.keyShape(ofTable: table)
      columns = shape.columns.isEmpty ? [] : shape.names
      rowid = shape.isWithoutRowid ? nil : String.rowidName(avoiding: shape.row.names)
      comparison = shape.comparison
    }

    /// Returns two SQL expressions for a row: the row's id, and the key as a list of SQL literals.
    fileprivate func values(_ row: String) -> (id: String, key: String) {
      let key = columns.map { "quote(\(row).\($0))" }.joined(separator: " || ', ' || ")
      return (rowid.map { "\(row).\($0)" } ?? "NULL", key.isEmpty ? "NULL" : key)
    }
  }

  /// Returns the statements that create a table's triggers. The statements have no effect if the triggers exist.
  static func triggers(ofTable table: String, _ key: Key) -> [String] {
    Change.allCases.map { change in
      let (old, new) = (key.values("old"), key.values("new"))
      let (after, before) = (change == .delete ? old : new, change == .insert ? new : old)
      let name = "\(ChangeTable.table)_\(table)_\(change)"
      return """
        CREATE TRIGGER IF NOT EXISTS \(name.quotedName) AFTER \(change.keyword) ON \(table.quotedName) BEGIN \
        INSERT INTO "\(ChangeTable.table)" ("table", "change", "id", "previousId", "key", "previousKey") \
        VALUES (\(table.quotedText), \(change.code), \(after.id), \(before.id), \(after.key), \(before.key)); END
        """
    }
  }

  /// Returns a query of the entries whose numbers are above `number`, with the schema version. The result has at least
  /// one row, even without entries. The keys are blobs, because a text that is not UTF-8 can't be read as a value.
  static func entries(after number: Int, limit: Int) -> SQL {
    """
    SELECT v."schema_version", c."number", c."table", c."change", c."id", c."previousId",
    CAST(c."key" AS BLOB) AS "key", CAST(c."previousKey" AS BLOB) AS "previousKey"
    FROM pragma_schema_version AS v LEFT JOIN (SELECT * FROM "sqlable_change" WHERE "number" > \(number)
    ORDER BY "number" LIMIT \(limit)) AS c ORDER BY c."number"
    """
  }

  static let end: SQL = """
    SELECT v."schema_version", coalesce((SELECT seq FROM sqlite_sequence WHERE name = \(table)), 0)
    FROM pragma_schema_version AS v
    """

  static func trim(before number: Int) -> SQL { "DELETE FROM \"sqlable_change\" WHERE \"number\" < \(number)" }
}

extension Change {
  fileprivate var keyword: String {
    switch self {
    case .insert: "INSERT"
    case .update: "UPDATE"
    case .delete: "DELETE"
    }
  }

  fileprivate var code: Int {
    switch self {
    case .insert: 0
    case .update: 1
    case .delete: 2
    }
  }

  init?(code: Int) {
    guard let change = Change.allCases.first(where: { $0.code == code }) else { return nil }
    self = change
  }
}
#endif
