import Foundation
import Testing

/// The program that these tests are, to be run again as a process of its own.
enum TestProgram {
  static let isAvailable = path != nil

  private static let path: String? = {
    let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    return path.hasSuffix(".xctest") ? path : nil
  }()

  /// One that is not started yet, with the tests that the filter takes, and variables beside those of this process.
  static func process(_ filter: String, environment: [String: String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try #require(path))
    process.arguments = ["--testing-library", "swift-testing", "--filter", filter]
    process.environment = ProcessInfo.processInfo.environment.merging(environment, uniquingKeysWith: { $1 })
    process.standardError = FileHandle.nullDevice
    return process
  }
}
