import Foundation

/// The repository that holds the current directory.
public struct Repository: Sendable {
  public let root: URL

  public init(around directory: URL = URL(filePath: ".")) throws {
    let path = try output(of: ["git", "rev-parse", "--show-toplevel"], in: directory)
    root = URL(filePath: path.trimmingCharacters(in: .newlines), directoryHint: .isDirectory)
  }

  /// The Swift files and the guides that git has or would add. A link to a file is that file again, and left out.
  public func files() throws -> [SourceFile] {
    let list = try output(
      of: ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.swift", "*.md"], in: root)
    return try Set(list.split(separator: "\0")).sorted().compactMap { path in
      let url = root.appending(path: String(path))
      guard (try? url.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true else { return nil }
      return SourceFile(String(path), bytes: Array(try Data(contentsOf: url)))
    }
  }

  public func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }
}

/// A program that failed, or a file that is not where it should be.
public struct CheckError: Error, CustomStringConvertible {
  public let description: String

  public init(_ description: String) { self.description = description }
}

/// Runs a program and returns its standard output; with `alsoErrors` both its outputs, whatever its status.
func output(
  of command: [String], in directory: URL, input: String = "", alsoErrors: Bool = false
) throws -> String {
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = command
  process.currentDirectoryURL = directory
  let pipe = Pipe()
  process.standardOutput = pipe
  if alsoErrors { process.standardError = pipe }
  let pipeIn = Pipe()
  process.standardInput = pipeIn
  try process.run()
  // Each of the programs reads all of its input before it writes.
  try pipeIn.fileHandleForWriting.write(contentsOf: Data(input.utf8))
  try pipeIn.fileHandleForWriting.close()
  let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
  process.waitUntilExit()
  guard alsoErrors || process.terminationStatus == 0 else {
    throw CheckError("\(command.joined(separator: " ")): status \(process.terminationStatus)")
  }
  return String(decoding: data, as: UTF8.self)
}
