import FoundationEssentials
import SqlableCore
import SqlableSchema

struct SchemaEntry {
  let type: String
  let name: String
  let table: String
  /// The root page of the b-tree; 0 if there is no b-tree or the root is unknown.
  let root: UInt32
  let sql: String
  var isFromFile = true

  /// Nil for values that SQLite would not have written.
  init?(type: String, name: String, table: String, root: UInt32, sql: String, isFromFile: Bool) {
    guard ["table", "index", "view", "trigger"].contains(type), !name.isEmpty, !name.utf8.contains(0),
      !sql.utf8.contains(0), sql.isEmpty ? type == "index" : sql.foldedName.starts(with: "create ".utf8)
    else { return nil }
    (self.type, self.name, self.table, self.root, self.sql) = (type, name, table, root, sql)
    self.isFromFile = isFromFile
  }

  /// True if the entry is internal to SQLite. SQLite reserves names with the prefix `sqlite_`.
  var isInternal: Bool { name.foldedName.starts(with: "sqlite_".utf8) }
}

/// The schema of a damaged file. If the schema is damaged or empty, a backup and the models supply missing entries.
struct SalvagedSchema {
  private(set) var entries: [SchemaEntry] = []
  private(set) var isDamaged = false
  private(set) var unreadablePages = 0
  /// The number of schema pages that are known to be after the end of the file.
  private(set) var cutPages = 0

  init() {}

  private static let shape = try? SchemaReader.table(
    "CREATE TABLE sqlite_schema(type TEXT, name TEXT, tbl_name TEXT, rootpage INT, sql TEXT)")

  init(of crawler: TreeCrawler, completedBy outside: [SchemaEntry]) throws {
    let encoding = crawler.file.encoding
    let shape = SalvagedSchema.shape.map { TableShape($0) }
    var entries: [SchemaEntry] = []
    var tally = TreeStatistics()
    func add(_ row: TreeCrawler.TreeRow) {
      if row.isSound, let record = row.record, let entry = SchemaEntry(record, encoding) {
        entries.append(entry)
      } else {
        isDamaged = true
      }
    }
    try crawler.crawl(1, shape, &tally, add)
    if !tally.isComplete {
      isDamaged = true
      for number in 1...max(crawler.file.pageCount, 1) where crawler.marks[number] == .unknown {
        guard let page = crawler.file.tree(number), page.kind == .leafTable, page.isSound,
          page.cells.allSatisfy({ cell in
            cell.flatMap { crawler.sample($0, page) }.flatMap { SchemaEntry($0, encoding) } != nil
          })
        else { continue }
        try crawler.crawl(number, shape, isOrphan: true, &tally, add)
      }
    }
    (unreadablePages, cutPages) = (tally.unreadablePages, tally.cutPages)
    self.entries = entries
    let isUnknown = entries.isEmpty
    for entry in outside where isDamaged || isUnknown {
      guard !self.entries.contains(where: { $0.type == entry.type && $0.name.isSameName(as: entry.name) }) else {
        continue
      }
      // The root in the entry is only a hint, and is discarded if another entry has the same root.
      let isRootTaken = self.entries.contains { $0.root == entry.root }
      let root = isRootTaken ? 0 : entry.root
      if let entry = SchemaEntry(
        type: entry.type, name: entry.name, table: entry.table, root: root, sql: entry.sql, isFromFile: false)
      {
        self.entries.append(entry)
      }
    }
  }
}

extension SchemaEntry {
  fileprivate init?(_ record: StoredRecord, _ encoding: TextEncoding) {
    guard record.fields.count == 5, let type = record.text(0, encoding), let name = record.text(1, encoding),
      let table = record.text(2, encoding)
    else { return nil }
    let root = record.integer(record.fields[3]).flatMap { UInt32(exactly: $0) } ?? 0
    let sql = record.text(4, encoding) ?? ""
    // The file contains a table's name three times, and one of the three might be damaged.
    let isNamed = type != "table" || name.isSameName(as: table)
    let defined = isNamed ? nil : try? SchemaReader.table(sql).name
    let trueName = defined.flatMap { $0.isSameName(as: table) ? $0 : nil } ?? name
    self.init(type: type, name: trueName, table: table, root: root, sql: sql, isFromFile: true)
  }
}

extension SchemaReader {
  /// Returns the table of a CREATE TABLE statement. Throws `.schema(.mismatch)` for text not written by SQLite.
  static func table(_ sql: String) throws -> DatabaseSchema.Table {
    var reader = SchemaReader(sql)
    return try reader.table()
  }

  static func index(_ sql: String) throws -> DatabaseSchema.Index {
    var reader = SchemaReader(sql)
    return try reader.index().index
  }
}
