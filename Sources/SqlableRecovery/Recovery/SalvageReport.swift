import SqlableCore

/// A report of the rows that a ``Salvage`` recovered from each table, and of the rows that are lost.
public struct SalvageReport: Sendable, Hashable, Codable {
  public var tables: [Table] = []
  /// The size of the damaged database, in pages.
  public var pages = 0
  /// The number of pages of tables, indexes and the schema that could not be read.
  public var unreadablePages = 0
  /// The number of rows whose table is unknown, which are in ``lostAndFound``. The rows are on intact orphaned pages.
  /// Either the damaged schema no longer contains their table, or several tables match the rows.
  public var rowsOfUnknownTables = 0
  /// The estimated number of lost rows in tables whose definitions are lost, derived from the number of missing pages.
  public var estimatedRowsOfLostTables = 0
  /// The number of rows on pages that no table uses. The rows were deleted or moved before the damage, unless the
  /// damage hides the rows' table. The rows are skipped, or are in ``lostAndFound`` if ``Salvage/keepsPossiblyDeleted``
  /// is true.
  public var rowsPossiblyDeleted = 0
  /// The name of the table in the new file that stores rows of unknown tables; nil if there are no such rows.
  public var lostAndFound: String?
  /// Problems outside tables, such as a damaged header or an index that can't be created.
  public var problems: [String] = []

  public init() {}

  /// The result for a table, or for a shadow table of a virtual table.
  public struct Table: Sendable, Hashable, Codable {
    public var name: String
    /// The number of rows that were read from the damaged file.
    public var rowsFromPages = 0
    /// The number of rows that were copied from the backup to replace lost rows.
    public var rowsFromBackup = 0
    /// The number of lost rows that the backup did not replace. The number is exact if ``isLossExact`` is true.
    /// Otherwise the number is estimated from neighboring pages.
    public var estimatedRowsLost = 0
    public var isLossExact = true
    /// The number of intact rows that violate a constraint of the table, or whose table can't be created. The rows are
    /// in ``SalvageReport/lostAndFound``.
    public var rowsSetAside = 0
    /// The number of rows with text that is not valid UTF-8 or UTF-16, and without an intact version in the backup. The
    /// table contains these rows with their original bytes. Reading the text as a `String` throws `.decoding`.
    public var rowsWithInvalidText = 0
    public var unreadablePages = 0
    /// The source of the table's definition: the damaged file, the backup or the models.
    public var schemaSource: SchemaSource = .file
    /// The reason why the table differs from the original; nil if the table does not differ.
    public var problem: String?

    /// The source of the table's rows: pages of the damaged file, the backup or both.
    public var source: Source {
      rowsFromBackup == 0 ? .pages : rowsFromPages == 0 ? .backup : .both
    }

    /// True if, as far as the file shows, every row was read from the damaged file and is in the table.
    public var isComplete: Bool {
      estimatedRowsLost == 0 && isLossExact && rowsFromBackup == 0 && rowsSetAside == 0 && rowsWithInvalidText == 0
        && problem == nil
    }
  }

  public enum Source: String, Sendable, Hashable, Codable {
    case pages, backup, both
  }

  public enum SchemaSource: String, Sendable, Hashable, Codable {
    case file, backup, models
  }

  /// The table with this name, ignoring the case of A to Z as SQLite does; nil if there is no such table.
  public subscript(table name: String) -> Table? { tables.first { $0.name.isSameName(as: name) } }

  /// True if, as far as the file shows, every row of every table was read from the damaged file. If an empty page
  /// replaced the only page of a table, only entries of an index show the loss.
  public var isComplete: Bool {
    tables.allSatisfy(\.isComplete) && rowsOfUnknownTables == 0 && estimatedRowsOfLostTables == 0 && problems.isEmpty
  }

  /// The estimated share of the damaged database's rows that are in their tables in the new file, from 0 to 1.
  ///
  /// The whole is the number of rows that the tables had before the damage: the rows from the file and from the backup,
  /// the estimated lost rows, and the rows in ``lostAndFound`` that were not deleted. Rows of commits after the first
  /// damaged frame of the WAL are not counted; ``problems`` contains the number of these commits. If no row is found or
  /// known to be lost, the share is 1 for a complete report, otherwise 0.
  public var share: Double {
    let recovered = tables.reduce(0) { $0 + $1.rowsFromPages + $1.rowsFromBackup }
    let lost = tables.reduce(estimatedRowsOfLostTables) { $0 + $1.estimatedRowsLost }
    // Take the larger number, not the sum: `lost` already counts each row of an unknown table, as a lost row of a known
    // table or of a lost table.
    let missing = tables.reduce(max(lost, rowsOfUnknownTables)) { $0 + $1.rowsSetAside }
    return recovered + missing == 0 ? (isComplete ? 1 : 0) : Double(recovered) / Double(recovered + missing)
  }
}

extension SalvageReport: CustomStringConvertible {
  /// A line for each table, then the problems.
  public var description: String {
    var lines = tables.map(\.description)
    if rowsOfUnknownTables > 0 {
      lines.append("\(rowsOfUnknownTables) rows of unknown tables are in \(lostAndFound ?? "")")
    }
    if estimatedRowsOfLostTables > 0 {
      lines.append("about \(estimatedRowsOfLostTables) rows of tables without a definition are lost")
    }
    if rowsPossiblyDeleted > 0 { lines.append("\(rowsPossiblyDeleted) rows were probably deleted before the damage") }
    lines += problems
    lines.append("\(unreadablePages) of \(pages) pages are unreadable; \(percent) % of the rows were recovered")
    return lines.joined(separator: "\n")
  }

  /// The share in percent, rounded down. The result is 100 only if no row is missing.
  private var percent: String {
    let hundredths = Int(share * 10_000)
    return "\(hundredths / 100).\(hundredths / 10 % 10)\(hundredths % 10)"
  }
}

extension SalvageReport.Table: CustomStringConvertible {
  /// For example `bicycle: 4990 rows, about 10 lost`.
  public var description: String {
    var parts = ["\(rowsFromPages + rowsFromBackup) rows"]
    if rowsFromBackup > 0 { parts.append("\(rowsFromBackup) of them from the backup") }
    if estimatedRowsLost > 0 || !isLossExact { parts.append("\(isLossExact ? "" : "about ")\(estimatedRowsLost) lost") }
    if rowsSetAside > 0 { parts.append("\(rowsSetAside) set aside") }
    if rowsWithInvalidText > 0 { parts.append("\(rowsWithInvalidText) with invalid text") }
    if let problem { parts.append(problem) }
    return "\(name): \(parts.joined(separator: ", "))"
  }
}
