import Foundation
import Testing

/// The program that these tests are, to be run again as a process of its own.
enum TestProgram {
  static let isAvailable = path != nil

  private static let path: String? = {
    let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    return path.hasSuffix(".xctest") ? path : nil
  }()

  /// Starts it, with the tests that the filter takes, and variables beside those of this process.
  static func start(_ filter: String, environment: [String: String]) throws -> ChildProcess {
    try ChildProcess(
      try #require(path), ["--testing-library", "swift-testing", "--filter", filter],
      environment: ProcessInfo.processInfo.environment.merging(environment, uniquingKeysWith: { $1 }), errors: .dropped)
  }
}
