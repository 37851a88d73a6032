import Foundation

/// Says on the standard error how far a long piece of work is: a line that is rewritten on a terminal, now and then a
/// line of its own elsewhere, so that a log stays short. Work of less than a moment says nothing.
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

  /// Shows the state if it is time to; `total` is nil when it is not known, as for a pipe.
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

  /// Takes the line away again, so that what follows starts at the margin.
  mutating func finish() {
    if hasLine { Progress.write("\r\u{1B}[K") }
    hasLine = false
  }

  /// A closed standard error is no reason to stop an import, so what `write(2)` returns is of no interest.
  static func write(_ text: String) {
    fflush(nil)
    var text = text
    text.withUTF8 { _ = Foundation.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
