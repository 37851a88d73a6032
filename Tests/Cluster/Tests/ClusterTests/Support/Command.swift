import Foundation

/// A failed system command.
struct CommandFailure: Error, CustomStringConvertible {
  let description: String
}

/// Runs a command and returns its output.
@discardableResult
func command(_ words: String...) throws -> String {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = words
  process.environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
  let output = Pipe()
  process.standardOutput = output
  process.standardError = output
  process.standardInput = FileHandle.nullDevice
  try process.run()
  let text = String(decoding: (try? output.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
  process.waitUntilExit()
  guard process.terminationStatus == 0 else {
    throw CommandFailure(description: "\(words.joined(separator: " ")): \(text)")
  }
  return text
}
