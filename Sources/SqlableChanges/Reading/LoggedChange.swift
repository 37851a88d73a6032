import FoundationEssentials
import SqlableCore

/// A change of one row, as the log of its database keeps it.
///
/// A text that is not valid UTF-8 is stored in ``old`` and ``new`` as a blob of its bytes, because a `String` can't
/// contain it.
public struct LoggedChange: Sendable, Hashable {
  /// The position after the change, from which a later loop continues.
  public let position: ChangePosition
  /// The time of the change, by the clock of the writer.
  public let time: Date
  public let table: String
  public let change: Change
  /// The logged values before the change; nil for an insert.
  public let old: DynamicRow?
  /// The logged values after the change; nil for a delete.
  public let new: DynamicRow?
  /// The names of the columns that identify a row: the primary key, or the rowid of a table without a primary key.
  public let key: [String]
}

/// The change of a model's row.
public enum LoggedRow<Model: Sendable>: Sendable {
  case insert(Model)
  case update(old: Model, new: Model)
  case delete(Model)
}

extension LoggedRow: Equatable where Model: Equatable {}
extension LoggedRow: Hashable where Model: Hashable {}

/// A change of one row of a model, as the log of its database keeps it.
public struct LoggedModelChange<Model: Sendable>: Sendable {
  /// The position after the change, from which a later loop continues.
  public let position: ChangePosition
  /// The time of the change, by the clock of the writer.
  public let time: Date
  public let row: LoggedRow<Model>
}

extension LoggedModelChange: Equatable where Model: Equatable {}
extension LoggedModelChange: Hashable where Model: Hashable {}

extension ChangePosition {
  var date: Date { Date(timeIntervalSince1970: Double(time) / 1000) }
}
