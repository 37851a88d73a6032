import SqlableCore

/// A report of the damage in a database.
public struct CorruptionReport: Sendable, Hashable {
  /// The error that reported the damage; nil if the check was started without an error.
  public var error: SqlError?
  /// The error that prevented the check, or ended the check early; nil if the whole file was checked. The error itself
  /// does not report damage.
  public var checkError: SqlError?
  /// The lines that `PRAGMA integrity_check` reported, at most a hundred, and the damage that ended the check, if any.
  /// Empty if no damage was found.
  public var messages: [String] = []
  /// The tables with damaged pages, or with rows that violate the table's definition.
  public var tables: [String] = []
  /// The indexes with damaged pages, and the indexes that do not match their tables.
  public var indexes: [String] = []
  /// The pages of tables and indexes that are unreadable or belong to a different b-tree, at most a thousand per table
  /// or index.
  public var pages: [Int] = []
  /// True if the schema itself is damaged.
  public var isSchemaDamaged = false
  /// True if no other connection can write until the receiver of the report returns.
  public var isExclusive = false

  public init() {}

  /// True if the whole file was checked, and nothing is damaged.
  public var isSound: Bool {
    checkError == nil && messages.isEmpty && tables.isEmpty && indexes.isEmpty && pages.isEmpty && !isSchemaDamaged
  }

  /// True if ``SqliteDatabase/reindex(_:)`` can repair all damage: the only damage is indexes that do not match their
  /// tables, and no page is lost. False if the check ended early.
  public var isMendedByReindex: Bool {
    checkError == nil && !indexes.isEmpty && tables.isEmpty && pages.isEmpty && !isSchemaDamaged
  }
}

extension CorruptionReport {
  mutating func add(_ message: String, tables known: [String]) {
    messages.append(message)
    if let index = message.rest(after: [" index "]), !indexes.contains(index) { indexes.append(index) }
    let row = message.rest(after: [" value in ", "CHECK constraint failed in "])
    guard let row else { return }
    // The message contains `t.c`, or only the table. The names of tables and columns can contain periods.
    for table in known where row.isSameName(as: table) || row.foldedName.starts(with: (table + ".").foldedName) {
      if !tables.contains(table) { tables.append(table) }
    }
  }
}

extension String {
  /// Tries `words` in order, and returns the text after a word's last occurrence. Returns nil if no text follows any of
  /// the words.
  fileprivate func rest(after words: [String]) -> String? {
    for word in words {
      if let range = ranges(of: word).last, range.upperBound < endIndex { return String(self[range.upperBound...]) }
    }
    return nil
  }
}
