import Foundation

/// The wall clock of a node's process, which can be set; libfaketime makes it.
struct TestClock: Sendable {
  private static let library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
  static let isAvailable = FileManager.default.fileExists(atPath: library)

  private let path: String

  init(_ path: String) throws {
    self.path = path
    try jump(by: 0)
  }

  /// Sets the clock this many seconds ahead of the machine's, or behind.
  func jump(by seconds: Int) throws {
    try "\(seconds < 0 ? "" : "+")\(seconds)".write(toFile: path, atomically: true, encoding: .utf8)
  }

  /// Processes measure durations by the clock that only goes forwards, which stays.
  var environment: [String: String] {
    [
      "LD_PRELOAD": TestClock.library, "FAKETIME_TIMESTAMP_FILE": path, "FAKETIME_NO_CACHE": "1",
      "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    ]
  }
}
