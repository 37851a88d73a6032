import Foundation

/// Shows the progress of long work on the standard error: a line that is rewritten on a terminal, and a new line now
/// and then elsewhere, so that a log stays short. Short work shows nothing.
struct Progress {
  let title: String
  private let isTerminal: Bool
  private let interval: Duration
  private let start = ContinuousClock.now
  private var next: ContinuousClock.Instant
  private var hasLine = false

  init(_ title: String, isTerminal: Bool = isatty(STDERR_FILENO) == 1) {
    self.title = title
    self.isTerminal = isTerminal
    interval = isTerminal ? .milliseconds(100) : .seconds(5)
    next = start + interval
  }

  /// Shows the state if an update is due; `total` is nil if unknown, as for a pipe.
  mutating func update(done: Int, of total: Int?, rows: Int) {
    let now = ContinuousClock.now
    guard now >= next else { return }
    next = now + interval
    var text = "\(title): \(rows.grouped) rows"
    if let total, total > 0 { text += ", \(min(100, done * 100 / total)) %" }
    text += ", \(Rate(count: rows, duration: now - start).perSecond.grouped) rows/s"
    Progress.write(isTerminal ? "\r\u{1B}[K" + text : text + "\n")
    hasLine = isTerminal
  }

  /// Clears the line, so that later output starts at the margin.
  mutating func finish() {
    if hasLine { Progress.write("\r\u{1B}[K") }
    hasLine = false
  }

  /// Ignores the result of `write(2)`: a closed standard error is no reason to stop an import.
  static func write(_ text: String) {
    fflush(nil)
    var text = text
    text.withUTF8 { _ = Foundation.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
