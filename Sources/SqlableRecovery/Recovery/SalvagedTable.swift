import SqlableCore
import SqlableSchema

final class SalvagedTable {
  enum Use {
    case rows
    /// The rows of the damaged shadow table are copied unchanged, and replace the rows of the new shadow table.
    case copies
    /// The rows are not used, because the virtual table recomputes them.
    case none
  }

  let entry: SchemaEntry
  /// The layout of the records. Nil if the SQL can't be parsed, or if a WITHOUT ROWID table has no primary key.
  let shape: TableShape?
  /// True if the b-tree is ordered by a primary key instead of the rowid.
  let isWithoutRowid: Bool
  /// The table's name in its CREATE statement; nil if the statement can't be parsed. If the statement is damaged, this
  /// name can differ from `entry.name`.
  let definedName: String?
  private let source: SalvageReport.SchemaSource
  var tally = TreeStatistics()
  private(set) var sink: TableSink?
  var use = Use.rows
  /// The virtual table that owns this shadow table; nil for an ordinary table.
  var virtual: SchemaEntry?
  var rowsFromPages = 0
  var rowsFromBackup = 0
  var rowsSetAside = 0
  var rowsWithInvalidText = 0
  /// The original number of rows in the table, from the largest complete index; nil if no index is complete.
  var rowsByIndex: Int?
  var problem: String?
  private(set) var sequences: [(name: String, number: Int64)] = []

  /// - Parameter keyed: The first records of the root page, if the page is intact and its records are ordered by a
  ///   primary key; otherwise empty.
  init(_ entry: SchemaEntry, source: SalvageReport.SchemaSource, keyed: [StoredRecord]) {
    (self.entry, self.source) = (entry, source)
    var table = try? SchemaReader.table(entry.sql)
    definedName = table?.name
    let isDefinitionWrong = SalvagedTable.lacksWithoutRowid(table, keyed)
    if isDefinitionWrong {
      table?.isWithoutRowid = true
      problem = "the definition is damaged: WITHOUT ROWID is missing"
    }
    isWithoutRowid = table?.isWithoutRowid ?? !keyed.isEmpty
    table?.name = entry.name
    shape = table.flatMap { [isWithoutRowid] table in
      table.columns.isEmpty || (isWithoutRowid && table.primaryKey == nil) ? nil : TableShape(table)
    }
    if shape == nil { problem = "the definition can't be read" }
  }

  /// True if the table's definition lacks WITHOUT ROWID: most records of the root page fit a WITHOUT ROWID table with
  /// the table's columns. Otherwise the definition is right, and the root page was probably overwritten, for example
  /// with a page of an index.
  private static func lacksWithoutRowid(_ table: DatabaseSchema.Table?, _ keyed: [StoredRecord]) -> Bool {
    guard var table, !table.isWithoutRowid, !keyed.isEmpty else { return false }
    table.isWithoutRowid = true
    let shape = TableShape(table)
    return keyed.count { $0.count == shape.columns.count && !shape.contradicts($0) } * 2 > keyed.count
  }

  /// True if one of the pages is the table's root, or is missing from the table's b-tree.
  func contains(_ pages: [UInt32]) -> Bool { pages.contains(entry.root) || tally.misses(anyOf: pages) }

  /// Opens the table for inserts. The table must exist in the new file.
  func fill(isPlain: Bool = false, isReplacing: Bool = false) {
    sink = shape.map { TableSink($0, isPlain: isPlain, isReplacing: isReplacing) }
  }

  func sequence(_ row: TreeCrawler.TreeRow, _ encoding: TextEncoding) {
    guard row.isSound, let record = row.record, record.fields.count == 2, let name = record.text(0, encoding),
      !name.utf8.contains(0), let number = record.integer(record.fields[1])
    else { return }
    sequences.append((name, number))
  }

  /// The report of the table's rows. The number of lost rows is set only if a complete index shows the number.
  var report: SalvageReport.Table {
    var report = SalvageReport.Table(name: entry.name)
    (report.rowsFromPages, report.rowsFromBackup) = (rowsFromPages, rowsFromBackup)
    (report.rowsSetAside, report.unreadablePages) = (rowsSetAside, tally.unreadablePages)
    (report.schemaSource, report.problem) = (source, problem)
    report.rowsWithInvalidText = rowsWithInvalidText
    if let rowsByIndex {
      report.estimatedRowsLost = max(rowsByIndex - rowsFromPages - rowsSetAside - rowsFromBackup, 0)
    }
    report.isLossExact = rowsByIndex != nil || tally.gaps.isEmpty
    return report
  }
}
