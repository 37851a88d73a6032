/// A record of the user code (functions, collations, tokenizers) that a connection is running, and of its errors.
///
/// SQLite can't pass on a Swift error. So the error is stored here while the statement fails, and a number in SQLite's
/// message or extended code identifies the error. Calls can nest: a function can run a statement that calls other
/// functions.
package final class UserCode {
  private var thrown: [(number: Int, error: any Error)] = []
  private var count = 0
  @exclusivity(unchecked) private var calls = 0

  package var isRunning: Bool { calls > 0 }

  func enter() { calls += 1 }
  func leave() { calls -= 1 }

  /// Stores an error, and returns a message that identifies the error.
  func keep(_ error: any Error) -> String {
    count += 1
    // After a failed statement, SQLite calls `finish` of each aggregate to free memory. Errors of these calls are never
    // taken, so the number of stored errors is limited.
    if thrown.count == 16 { thrown.removeFirst() }
    thrown.append((count, error))
    return UserCode.marker + String(count)
  }

  /// Stores an error, and returns an extended code that identifies the error. Used where SQLite accepts no message.
  func keepAsCode(_ error: any Error) -> Int32 {
    _ = keep(error)
    return UserCode.codeMarker | Int32(count & 0xFFFF) << 8
  }

  /// Returns the stored error whose number is in SQLite's error. Removes this stored error and all later ones: the
  /// later errors come from calls that free memory after the failure.
  func take(_ error: SqlError) -> (any Error)? {
    guard !thrown.isEmpty, let index = thrown.firstIndex(where: { error.stands(forNumber: $0.number) }) else {
      return nil
    }
    let error = thrown[index].error
    thrown.removeSubrange(index...)
    return error
  }

  /// True if the message was created by `keep`.
  static func isMarker(_ message: String) -> Bool {
    let number = message.utf8.dropFirst(marker.utf8.count)
    return message.begins(with: marker) && !number.isEmpty && number.allSatisfy { (48...57).contains($0) }
  }

  fileprivate static let marker = "a function failed with error "
  /// An extended code of SQLITE_ERROR that SQLite does not use. The two middle bytes contain the number of the error.
  fileprivate static let codeMarker: Int32 = 0x0100_0001
}

extension SqlError {
  fileprivate func stands(forNumber number: Int) -> Bool {
    extendedCode == Int(UserCode.codeMarker | Int32(number & 0xFFFF) << 8)
      || message == UserCode.marker + String(number)
  }
}

/// An error that the library throws during a call of a user-defined function or tokenizer, such as for an invalid
/// result. The statement's SQL and label are added later.
struct RefusedCall: Error {
  var error: SqlError
}

extension Connection {
  /// Returns the error that a failed statement throws: the error that user code has thrown, or else SQLite's error.
  func thrown(insteadOf error: SqlError) -> any Error {
    guard let thrown = userCode.take(error) else { return error }
    guard var refused = (thrown as? RefusedCall)?.error else { return thrown }
    refused.sql = error.sql
    refused.transaction = error.transaction
    return refused.labelled(label)
  }
}
