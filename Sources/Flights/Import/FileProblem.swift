import Sqlable

/// A file that can't be used, and why, in words for the person who named it.
struct FileProblem: Error, CustomStringConvertible {
  var path: String
  var reason: String

  var description: String { "\(path): \(reason)" }
}

extension FileProblem {
  /// Says whose problem an error is, which the error itself does not know.
  init(path: String, _ error: any Error) {
    // The message of a database's error is meant for people, its description, with the SQL, for a log.
    self.init(path: path, reason: (error as? SqlError)?.message ?? "\(error)")
  }
}
