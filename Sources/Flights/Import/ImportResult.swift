/// What came of importing one file.
struct ImportResult: Sendable {
  struct Skipped: Hashable, Sendable, CustomStringConvertible {
    var line: Int
    var reason: String

    var description: String { "line \(line): \(reason)" }
  }

  /// How many skipped lines are kept to be shown; the rest is only counted, so that a file of nothing but malformed
  /// lines costs no memory.
  static let shownSkips = 20

  let table: String
  /// The rows that are stored, each batch being committed.
  var rows = 0
  var duration = Duration.zero
  private(set) var skipped: [Skipped] = []
  private(set) var skippedCount = 0
  /// What ended the import before the file did. The rows above are stored all the same.
  var failure: (any Error)?

  init(table: String) {
    self.table = table
  }

  mutating func skip(_ line: Int, because reason: String) {
    skippedCount += 1
    guard skipped.count < ImportResult.shownSkips else { return }
    skipped.append(Skipped(line: line, reason: reason))
    // What a constraint refuses is found after the malformed lines of its batch.
    skipped.sort { $0.line < $1.line }
  }
}
