import Foundation
import Testing

/// The program that these tests are, to be run again as a process of its own.
enum TestProgram {
  static let isAvailable = path != nil

  private static let path: String? = {
    let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    return path.hasSuffix(".xctest") ? path : nil
  }()

  /// Starts it, with the tests that the filter takes, and variables beside those of this process; with stacks of so
  /// many kilobytes for its threads.
  static func start(_ filter: String, environment: [String: String], stack: Int? = nil) throws -> ChildProcess {
    let command = [try #require(path), "--testing-library", "swift-testing", "--filter", filter]
    let shell = stack.map { ["/bin/sh", "-c", "ulimit -s \($0) && exec \"$0\" \"$@\""] } ?? []
    let words = shell + command
    return try ChildProcess(
      words[0], Array(words.dropFirst()),
      environment: ProcessInfo.processInfo.environment.merging(environment, uniquingKeysWith: { $1 }), errors: .dropped)
  }
}
