import FoundationEssentials
import SqlableCore

/// A value of a logged row, of any storage class.
///
/// A `String` can't contain a text that is not UTF-8. Readers of the log get the bytes of such a text as a blob. The
/// quarantine stores the text itself or, in a UTF-16 database, a blob. A value from the log equals its copy from the
/// quarantine.
struct LoggedValue: SqlValue, Hashable {
  /// The value that readers get.
  let databaseValue: DatabaseValue
  /// True if the value is a text that is not UTF-8.
  private let isInvalidText: Bool

  static var columnType: ColumnType { .blob }

  init(databaseValue: DatabaseValue) { (self.databaseValue, isInvalidText) = (databaseValue, false) }

  private init(invalidText bytes: [UInt8]) { (databaseValue, isInvalidText) = (.blob(Data(bytes)), true) }

  static func read(from cell: ReadCell) throws -> LoggedValue {
    do { return LoggedValue(databaseValue: try cell.databaseValue()) } catch {
      guard case .decoding? = (error as? SqlError)?.kind, cell.storageClass == .text else { throw error }
      return LoggedValue(invalidText: try cell.textBytes())
    }
  }

  /// The SQL of the stored value. The SQL contains a parameter, to which the value's bytes are bound.
  var sql: SQL {
    guard isInvalidText else { return "\(databaseValue)" }
    // In a UTF-16 file, CAST would read the bytes as UTF-16.
    return """
      CASE (SELECT "encoding" FROM pragma_encoding) WHEN 'UTF-8' THEN CAST(\(databaseValue) AS TEXT)
      ELSE \(databaseValue) END
      """
  }

  static func == (left: LoggedValue, right: LoggedValue) -> Bool { left.databaseValue == right.databaseValue }

  func hash(into hasher: inout Hasher) { hasher.combine(databaseValue) }
}

extension ReadRow {
  func loggedValues(at positions: Range<Int>) throws -> [LoggedValue] {
    try positions.map { try get(at: $0, as: LoggedValue.self) }
  }
}
