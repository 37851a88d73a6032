import Foundation
import Testing

/// A built executable.
struct Program {
  struct Run: Equatable {
    var exitCode: Int32
    var output: String
    var errors: String
  }

  static let flights = Program("Flights")
  static let tool = Program("sqlable")

  /// The executable in the directory of the test bundle; nil if it is missing.
  let path: String?

  private init(_ name: String) {
    let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let path = tests.deletingLastPathComponent().appendingPathComponent(name).path
    self.path = FileManager.default.isExecutableFile(atPath: path) ? path : nil
  }

  var isAvailable: Bool { path != nil }

  /// Runs the program to its end. The output is written to files, because a full pipe would block the program.
  ///
  /// - Parameter terminal: The value of TERM for a pseudo terminal, which becomes the standard error; nil for a file.
  func run(
    _ arguments: [String], in directory: String, input: String = "", terminal: String? = nil
  ) throws -> Run {
    try withDirectory { files in
      let (output, errors) = (URL(fileURLWithPath: files + "/output"), URL(fileURLWithPath: files + "/errors"))
      let given = URL(fileURLWithPath: files + "/input")
      for file in [output, errors] { try Data().write(to: file) }
      try Data(input.utf8).write(to: given)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: try #require(path))
      process.arguments = arguments
      process.currentDirectoryURL = URL(fileURLWithPath: directory)
      process.standardInput = try FileHandle(forReadingFrom: given)
      process.standardOutput = try FileHandle(forWritingTo: output)
      process.standardError = try FileHandle(forWritingTo: errors)
      let device = try terminal.map { _ in try PseudoTerminal() }
      if let device, let terminal {
        process.standardError = device.line
        process.environment = ProcessInfo.processInfo.environment.merging(["TERM": terminal]) { $1 }
      }
      try process.run()
      try device?.readToEnd().write(to: errors)
      process.waitUntilExit()
      try #require(process.terminationReason == .exit)
      return Run(
        exitCode: process.terminationStatus,
        output: try String(contentsOf: output, encoding: .utf8),
        errors: try String(contentsOf: errors, encoding: .utf8))
    }
  }
}
