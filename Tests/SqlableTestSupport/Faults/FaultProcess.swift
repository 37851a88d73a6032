import Foundation
import Glibc

/// The test program, run again with a single test, in which a part of the machine fails.
enum FaultProcess {
  struct Report {
    var lines: [String] = []
    var violations: [String] { lines.filter { $0.hasPrefix("VIOLATION") } }
    /// True if the process finished its test.
    var isDone = false
  }

  private static let variable = "SQLABLE_FAULT_PROCESS"
  private static let mark = "<fault>"

  /// The order for this process; nil in the tests themselves.
  static var order: String? { ProcessInfo.processInfo.environment[variable] }

  static func run(_ order: String, filter: String, environment: [String: String] = [:]) throws -> Report {
    let process = try TestProgram.start(
      filter, environment: environment.merging([variable: order], uniquingKeysWith: { $1 }))
    let text = String(decoding: process.output.readDataToEndOfFile(), as: UTF8.self)
    let isWell = process.waitUntilExit()
    var report = Report()
    for line in text.split(separator: "\n") where line.hasPrefix(mark) {
      report.lines.append(String(line.dropFirst(mark.count)))
    }
    report.isDone = isWell && report.lines.last == "DONE"
    return report
  }

  static func say(_ text: String) {
    print(mark + text)
    fflush(nil)
  }
}
