import Foundation
import Sqlable

/// A line on the terminal with the progress of a long operation.
///
/// The line is written to the standard error, and only to a terminal. `TERM=dumb` turns the line off. The line contains
/// carriage returns and spaces, but no escape codes.
final class ProgressLine: Sendable {
  enum Unit {
    case pages, rows, bytes
  }

  private struct State {
    var width = 0
    var written: ContinuousClock.Instant?
    var phase = ""
    var estimate = TimeEstimate()

    mutating func begin(_ phase: String) { (self.phase, written, estimate) = (phase, nil, TimeEstimate()) }
  }

  private let state = LockedValue(State())
  private let isShown: Bool

  /// The minimum time between two writes of one phase.
  private static let interval = Duration.milliseconds(100)

  private init() {
    let terminal = ProcessInfo.processInfo.environment["TERM"] ?? ""
    isShown = isatty(STDERR_FILENO) == 1 && !terminal.isEmpty && terminal != "dumb"
  }

  /// Calls `body` with a line, and clears the line at the end, also after an error.
  static func during<Result>(_ body: (ProgressLine) throws -> Result) rethrows -> Result {
    let line = ProgressLine()
    defer { line.clear() }
    return try body(line)
  }

  /// Begins a phase, and shows its name until the first report.
  func begin(_ phase: String) {
    guard isShown else { return }
    state.withLock { state in
      state.begin(phase)
      write(phase, &state)
    }
  }

  /// Shows the finished part of a phase. The first report of a phase starts an estimate of its time.
  ///
  /// - Parameter total: The total, which can be an estimate. If the total is smaller than `done`, no total is shown.
  func report(_ done: Int, of total: Int, _ unit: Unit, in phase: String) {
    guard isShown else { return }
    state.withLock { state in
      if state.phase != phase { state.begin(phase) }
      let now = ContinuousClock.now
      let left = state.estimate.timeLeft(done, of: total, at: now)
      // Always show the last report, because a long check can follow.
      if let written = state.written, now - written < ProgressLine.interval, done != total { return }
      write("\(phase): " + ProgressLine.text(done, of: total, unit, left), &state)
      state.written = now
    }
  }

  /// Removes the line, so that other output begins on an empty line.
  func clear() {
    guard isShown else { return }
    state.withLock { write("", &$0) }
  }

  /// Returns the text of a report: `1024 of 4096 pages, 25 %, 1 min 30 s left`.
  static func text(_ done: Int, of total: Int, _ unit: Unit, _ left: Duration?) -> String {
    func amount(_ count: Int) -> String { unit == .bytes ? count.sizeText : "\(count)" }
    let name = unit == .bytes ? "" : " \(unit)"
    guard total > 0, done <= total else { return amount(done) + name }
    let percent = Int(Double(done) / Double(total) * 100)
    return "\(amount(done)) of \(amount(total))\(name), \(percent) %" + (left.map { ", \($0.text) left" } ?? "")
  }

  private func write(_ text: String, _ state: inout State) {
    var size = winsize()
    let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    // A longer line would wrap, and a carriage return would no longer lead to its start.
    let limit = isKnown ? Int(size.ws_col) - 1 : 79
    let line = text.prefix(limit)
    let rest = String(repeating: " ", count: max(0, min(state.width, limit) - line.count))
    // An empty line needs a second carriage return, because the spaces that erase the old line move the cursor.
    Output.write("\r\(line)\(rest)" + (line.isEmpty ? "\r" : ""), to: STDERR_FILENO)
    state.width = line.count
  }
}

/// An estimate of the remaining time of an operation, from the average speed since the first report.
struct TimeEstimate {
  private var start: (time: ContinuousClock.Instant, done: Int)?
  private var last = 0

  /// Returns the remaining time; nil at the end and in the first half second, which is too short for an estimate.
  mutating func timeLeft(_ done: Int, of total: Int, at now: ContinuousClock.Instant) -> Duration? {
    // The amount decreases if a copy restarts.
    if done < last { start = nil }
    last = done
    guard let start else {
      start = (now, done)
      return nil
    }
    let elapsed = now - start.time
    guard done > start.done, total > done, elapsed >= .milliseconds(500) else { return nil }
    let seconds = elapsed / .seconds(1) * Double(total - done) / Double(done - start.done)
    return seconds < 1e9 ? .seconds(seconds) : nil
  }
}
