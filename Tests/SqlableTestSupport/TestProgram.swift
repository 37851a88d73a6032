import Foundation
import Testing

/// The test program, to be run again as a child process.
enum TestProgram {
  static let isAvailable = path != nil

  private static let path: String? = {
    let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    return path.hasSuffix(".xctest") ? path : nil
  }()

  /// Starts the test program with the tests of a filter and additional variables. `stack` is the stack size of its
  /// threads in kilobytes.
  static func start(_ filter: String, environment: [String: String], stack: Int? = nil) throws -> ChildProcess {
    let command = [try #require(path), "--testing-library", "swift-testing", "--filter", filter]
    let shell = stack.map { ["/bin/sh", "-c", "ulimit -s \($0) && exec \"$0\" \"$@\""] } ?? []
    let words = shell + command
    return try ChildProcess(
      words[0], Array(words.dropFirst()),
      environment: ProcessInfo.processInfo.environment.merging(environment, uniquingKeysWith: { $1 }), errors: .dropped)
  }
}
