/// The calls of a program's own functions that a connection is in, and what they have thrown.
///
/// SQLite carries no error of Swift's, so it stays here while the statement fails, and is known again by a number in
/// SQLite's message. Calls nest: a function may run a statement that calls others.
final class UserCode {
  private var thrown: [(number: Int, error: any Error)] = []
  private var count = 0
  @exclusivity(unchecked) private var calls = 0

  /// Whether a function is running: SQLite is in the middle of a statement.
  var isRunning: Bool { calls > 0 }

  func enter() { calls += 1 }
  func leave() { calls -= 1 }

  /// Keeps an error, and gives the message that stands for it.
  func keep(_ error: any Error) -> String {
    count += 1
    // A group that is finished only to be freed may throw, and nobody asks for that.
    if thrown.count == 16 { thrown.removeFirst() }
    thrown.append((count, error))
    return UserCode.marker + String(count)
  }

  /// Keeps an error where SQLite takes a code and no message, and gives the extended code that stands for it.
  func keepAsCode(_ error: any Error) -> Int32 {
    _ = keep(error)
    return UserCode.codeMarker | Int32(count & 0xFFFF) << 8
  }

  /// The error that SQLite's error stands for, and nothing that was thrown after it: that was thrown while it was
  /// cleared up.
  func take(_ error: SqlError) -> (any Error)? {
    guard !thrown.isEmpty, let index = thrown.firstIndex(where: { error.stands(forNumber: $0.number) }) else {
      return nil
    }
    let error = thrown[index].error
    thrown.removeSubrange(index...)
    return error
  }

  /// Whether a message is one that `keep` has given.
  static func isMarker(_ message: String) -> Bool {
    let number = message.utf8.dropFirst(marker.utf8.count)
    return message.begins(with: marker) && !number.isEmpty && number.allSatisfy { (48...57).contains($0) }
  }

  fileprivate static let marker = "a function failed with error "
  /// A plain error with an extended code that SQLite has no use for: 0x01, a number, and SQLITE_ERROR.
  fileprivate static let codeMarker: Int32 = 0x0100_0001
}

extension SqlError {
  fileprivate func stands(forNumber number: Int) -> Bool {
    extendedCode == Int(UserCode.codeMarker | Int32(number & 0xFFFF) << 8)
      || message == UserCode.marker + String(number)
  }
}

/// A call of a function that the library refuses itself: it is completed with the statement's text and label.
struct RefusedCall: Error {
  var error: SqlError
}

extension Connection {
  /// What a failing statement throws: SQLite's error, unless a function has thrown one of its own.
  func thrown(insteadOf error: SqlError) -> any Error {
    guard let thrown = userCode.take(error) else { return error }
    guard var refused = (thrown as? RefusedCall)?.error else { return thrown }
    refused.sql = error.sql
    refused.transaction = error.transaction
    return refused.labelled(label)
  }
}
