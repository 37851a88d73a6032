/// The user code (functions, collations, tokenizers) that a connection is running, and the errors it threw.
///
/// SQLite can't carry a Swift error. So the error stays here while the statement fails, and a number in SQLite's
/// message or extended code identifies it. Calls nest: a function may run a statement that calls others.
package final class UserCode {
  private var thrown: [(number: Int, error: any Error)] = []
  private var count = 0
  @exclusivity(unchecked) private var calls = 0

  /// True if user code is running, and SQLite is in the middle of a statement.
  package var isRunning: Bool { calls > 0 }

  func enter() { calls += 1 }
  func leave() { calls -= 1 }

  /// Keeps an error and returns the message that stands for it.
  func keep(_ error: any Error) -> String {
    count += 1
    // SQLite finishes the groups of a failed statement to free them; their errors are never taken, and must not pile
    // up.
    if thrown.count == 16 { thrown.removeFirst() }
    thrown.append((count, error))
    return UserCode.marker + String(count)
  }

  /// Keeps an error where SQLite takes a code and no message, and returns the extended code that stands for it.
  func keepAsCode(_ error: any Error) -> Int32 {
    _ = keep(error)
    return UserCode.codeMarker | Int32(count & 0xFFFF) << 8
  }

  /// Returns the error that SQLite's error stands for. Drops it and all that were thrown after it, during cleanup.
  func take(_ error: SqlError) -> (any Error)? {
    guard !thrown.isEmpty, let index = thrown.firstIndex(where: { error.stands(forNumber: $0.number) }) else {
      return nil
    }
    let error = thrown[index].error
    thrown.removeSubrange(index...)
    return error
  }

  /// True if `keep` made the message.
  static func isMarker(_ message: String) -> Bool {
    let number = message.utf8.dropFirst(marker.utf8.count)
    return message.begins(with: marker) && !number.isEmpty && number.allSatisfy { (48...57).contains($0) }
  }

  fileprivate static let marker = "a function failed with error "
  /// An extended code of SQLITE_ERROR that SQLite does not use: 0x01, a number, and SQLITE_ERROR.
  fileprivate static let codeMarker: Int32 = 0x0100_0001
}

extension SqlError {
  fileprivate func stands(forNumber number: Int) -> Bool {
    extendedCode == Int(UserCode.codeMarker | Int32(number & 0xFFFF) << 8)
      || message == UserCode.marker + String(number)
  }
}

/// A call of a user-defined function that the library itself refuses; completed with the statement's SQL and label.
struct RefusedCall: Error {
  var error: SqlError
}

extension Connection {
  /// The error that a failed statement throws: SQLite's, unless user code has thrown one.
  func thrown(insteadOf error: SqlError) -> any Error {
    guard let thrown = userCode.take(error) else { return error }
    guard var refused = (thrown as? RefusedCall)?.error else { return thrown }
    refused.sql = error.sql
    refused.transaction = error.transaction
    return refused.labelled(label)
  }
}
