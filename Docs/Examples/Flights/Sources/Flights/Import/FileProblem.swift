import Sqlable

/// A file that can't be used, with the reason, as a message to the user.
struct FileProblem: Error, CustomStringConvertible {
  var path: String
  var reason: String

  var description: String { "\(path): \(reason)" }
}

extension FileProblem {
  /// Adds the file to an error that does not name it.
  init(path: String, _ error: any Error) {
    // The message of a database error is for users; its description has the SQL, and is for logs.
    self.init(path: path, reason: (error as? SqlError)?.message ?? "\(error)")
  }
}
