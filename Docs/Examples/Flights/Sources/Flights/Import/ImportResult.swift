/// The result of importing one file.
struct ImportResult: Sendable {
  struct Skipped: Hashable, Sendable, CustomStringConvertible {
    var line: Int
    var reason: String

    var description: String { "line \(line): \(reason)" }
  }

  /// The maximum number of skipped lines kept to be shown. Others are only counted, so that a file of malformed lines
  /// takes no memory.
  static let shownSkips = 20

  let table: String
  /// The number of rows committed.
  var rows = 0
  var duration = Duration.zero
  private(set) var skipped: [Skipped] = []
  private(set) var skippedCount = 0
  /// The error that ended the import before the end of the file. `rows` are stored nevertheless.
  var failure: (any Error)?

  init(table: String) {
    self.table = table
  }

  mutating func skip(_ line: Int, because reason: String) {
    skippedCount += 1
    guard skipped.count < ImportResult.shownSkips else { return }
    skipped.append(Skipped(line: line, reason: reason))
    // Lines rejected by a constraint are found after the malformed lines of their batch.
    skipped.sort { $0.line < $1.line }
  }
}
