import SqlableCore

/// What a ``Salvage`` recovered of each table, and what not.
public struct SalvageReport: Sendable, Hashable, Codable {
  public var tables: [Table] = []
  /// The size of the damaged database, in pages.
  public var pages = 0
  /// The pages of tables, indexes and the schema that could not be read.
  public var unreadablePages = 0
  /// Rows on intact pages that nothing leads to: of a table that the damaged schema no longer names, or of one of
  /// several that can have them. They are in ``lostAndFound``.
  public var rowsOfUnknownTables = 0
  /// How many rows are probably lost of tables whose definitions are lost: estimated from the pages that are missing.
  public var estimatedRowsOfLostTables = 0
  /// Rows on pages that no table uses. They were deleted or moved before the damage, unless the damage hides their
  /// table. They are left out, or in ``lostAndFound`` if ``Salvage/keepsPossiblyDeleted`` is set.
  public var rowsPossiblyDeleted = 0
  /// The table of the new file with the rows that are in no other; nil if there are none.
  public var lostAndFound: String?
  /// What is wrong beside tables: a damaged header, an index that can't be created.
  public var problems: [String] = []

  public init() {}

  /// A table, also one in which a virtual table keeps its rows.
  public struct Table: Sendable, Hashable, Codable {
    public var name: String
    /// The rows that were read from the damaged file.
    public var rowsFromPages = 0
    /// The rows that were taken from the backup in place of lost ones.
    public var rowsFromBackup = 0
    /// How many rows are lost, after the backup's were added. Exact if ``isLossExact`` is true; otherwise estimated
    /// from neighbouring pages.
    public var estimatedRowsLost = 0
    public var isLossExact = true
    /// The intact rows that the table does not take, for a constraint. They are in ``SalvageReport/lostAndFound``.
    public var rowsSetAside = 0
    /// The rows with text that is not valid UTF-8 or UTF-16, for which the backup has no intact version. They are in
    /// the table with their bytes; reading such a text as a `String` throws `.decoding`.
    public var rowsWithInvalidText = 0
    public var unreadablePages = 0
    /// Where the definition comes from.
    public var schemaSource: SchemaSource = .file
    /// Why the table is not what it was; nil if it is.
    public var problem: String?

    /// Where the rows come from.
    public var source: Source {
      rowsFromBackup == 0 ? .pages : rowsFromPages == 0 ? .backup : .both
    }

    /// Whether every row was read from the damaged file and is in the table, as far as the file shows.
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

  /// The table with a name, as SQLite compares names; nil if there is none.
  public subscript(table name: String) -> Table? { tables.first { $0.name.isSameName(as: name) } }

  /// Whether every row of every table was read from the damaged file, as far as the file shows: an empty page in place
  /// of the only page of a table leaves no trace, if no index knows of its rows.
  public var isComplete: Bool {
    tables.allSatisfy(\.isComplete) && rowsOfUnknownTables == 0 && estimatedRowsOfLostTables == 0 && problems.isEmpty
  }

  /// The part of all rows that are in their tables, from 0 to 1: recovered / (recovered + lost + set aside).
  public var share: Double {
    let recovered = tables.reduce(0) { $0 + $1.rowsFromPages + $1.rowsFromBackup }
    let lost = tables.reduce(estimatedRowsOfLostTables) { $0 + $1.estimatedRowsLost }
    // The rows of unknown tables are lost ones of others, or of tables whose definitions are lost.
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
    lines.append("\(unreadablePages) of \(pages) pages are unreadable; \(percent) % of the rows came back")
    return lines.joined(separator: "\n")
  }

  /// The share in percent, rounded down: 100 only if nothing is missing.
  private var percent: String {
    let hundredths = Int(share * 10_000)
    return "\(hundredths / 100).\(hundredths / 10 % 10)\(hundredths % 10)"
  }
}

extension SalvageReport.Table: CustomStringConvertible {
  /// `bicycle: 4,990 rows, about 10 lost`, without separators.
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
