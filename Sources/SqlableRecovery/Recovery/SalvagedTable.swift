import SqlableCore
import SqlableSchema

/// A table on its way from the damaged file to the new one.
final class SalvagedTable {
  /// What its rows are used for.
  enum Use {
    case rows
    /// The rows of a virtual table's own form, which replace those of the new one.
    case copies
    /// Nothing: the virtual table computes them again.
    case none
  }

  let entry: SchemaEntry
  /// Nil if its text can't be read, or does not say which columns are the key that stands for the rowid.
  let shape: TableShape?
  /// Whether its b-tree is ordered by a key in place of the rowid.
  let isWithoutRowid: Bool
  /// The name in its text, which is another if that is damaged; nil if the text can't be read.
  let definedName: String?
  private let source: SalvageReport.SchemaSource
  var tally = RowTally()
  private(set) var sink: TableSink?
  var use = Use.rows
  /// The virtual table that keeps its rows in this one.
  var virtual: SchemaEntry?
  var rowsFromPages = 0
  var rowsFromBackup = 0
  var rowsSetAside = 0
  /// The number of these rows with text that is not valid.
  var rowsWithInvalidText = 0
  /// How many rows it had, by an index that is complete.
  var rowsByIndex: Int?
  var problem: String?
  /// The rows of `sqlite_sequence`.
  private(set) var sequences: [(name: String, number: Int64)] = []

  /// - Parameter root: The kind of the page that is its root; nil if that is unknown.
  init(_ entry: SchemaEntry, source: SalvageReport.SchemaSource, root: TreePage.Kind?) {
    (self.entry, self.source) = (entry, source)
    var table = try? SchemaReader.table(entry.sql)
    definedName = table?.name
    isWithoutRowid = table?.isWithoutRowid == true || root?.isTable == false
    if isWithoutRowid, table?.isWithoutRowid == false {
      table?.isWithoutRowid = true
      problem = "its definition is damaged: it lacks WITHOUT ROWID"
    }
    table?.name = entry.name
    shape = table.flatMap { [isWithoutRowid] table in
      table.columns.isEmpty || (isWithoutRowid && table.primaryKey == nil) ? nil : TableShape(table)
    }
    if shape == nil { problem = "its definition can't be read" }
  }

  /// Lets its rows in, now that it exists in the new file.
  func fill(isPlain: Bool = false, isReplacing: Bool = false) {
    sink = shape.map { TableSink($0, isPlain: isPlain, isReplacing: isReplacing) }
  }

  func sequence(_ row: TreeCrawler.FoundRow, _ encoding: TextEncoding) {
    guard row.isSound, let record = row.record, record.fields.count == 2, let name = record.text(0, encoding),
      !name.utf8.contains(0), let number = record.integer(record.fields[1])
    else { return }
    sequences.append((name, number))
  }

  /// What became of its rows, without an estimate of those that are lost.
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
