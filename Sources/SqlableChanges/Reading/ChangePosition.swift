import FoundationEssentials
import SqlableCore

/// A position in a database's change log: the end of one logged change.
///
/// ```swift
/// let position = try await pool.changePosition()
/// response.headers["Last-Event-ID"] = position.description
/// for try await change in pool.changes(since: position) { … }
/// ```
///
/// A position names the history of its database. Reading changes from a position of another database throws
/// `.changeLog(.otherHistory)`. A position whose change was undone by a restore to an earlier point throws the same
/// error.
///
/// Positions of one history are ordered like their changes. Between positions of different histories, the order has no
/// meaning. ``description`` and the encoded form are one short text without blanks.
public struct ChangePosition: Sendable, Hashable {
  /// The random name of the history.
  let history: String
  /// The number of the change in the log; 0 before the first change; negative for a quarantined row of a snapshot.
  let number: Int
  /// The time of the change in milliseconds since 1970. After a restore, another change can have the same number, but
  /// a later time.
  let time: Int
}

extension ChangePosition: Comparable {
  public static func < (left: ChangePosition, right: ChangePosition) -> Bool {
    (left.history, left.number, left.time) < (right.history, right.number, right.time)
  }
}

extension ChangePosition: LosslessStringConvertible {
  public var description: String { "\(history)-\(number)-\(time)" }

  /// Makes a position from its description; nil for any other text.
  public init?(_ description: String) {
    // A negative number begins with a minus sign, so a second "-" can follow the separator.
    let parts = description.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, let separator = parts[1].lastIndex(of: "-"),
      let number = Int(parts[1][..<separator]), let time = Int(parts[1][separator...].dropFirst())
    else { return nil }
    self.init(history: String(parts[0]), number: number, time: time)
  }
}

extension ChangePosition: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let position = ChangePosition(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a position in a change log")
    }
    self = position
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
