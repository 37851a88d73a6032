import Foundation

/// The adjustable wall clock of a node's process, by libfaketime.
struct TestClock: Sendable {
  private static let library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
  static let isAvailable = FileManager.default.fileExists(atPath: library)

  private let path: String

  init(_ path: String) throws {
    self.path = path
    try jump(by: 0)
  }

  /// Sets the clock's offset from the machine's clock, in seconds.
  func jump(by seconds: Int) throws {
    try "\(seconds < 0 ? "" : "+")\(seconds)".write(toFile: path, atomically: true, encoding: .utf8)
  }

  /// The monotonic clock, which measures durations, stays unchanged.
  var environment: [String: String] {
    [
      "LD_PRELOAD": TestClock.library, "FAKETIME_TIMESTAMP_FILE": path, "FAKETIME_NO_CACHE": "1",
      "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    ]
  }
}
