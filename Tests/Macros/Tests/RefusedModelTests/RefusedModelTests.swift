import Foundation
import Testing

/// Compiles models with mistakes. The comment `// refused: words` marks the line of the only error of a model. An error
/// in the macro's code is an error of the type's first line.
@Suite struct RefusedModelTests {
  @Test func eachMistakeIsOneErrorAtItsPlace() throws {
    let folder = URL(filePath: #filePath).appending(path: "../Models").standardizedFileURL
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    var (expected, uses) = ([String: String](), "import Sqlable\n")
    for file in files {
      for (number, line) in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n").enumerated() {
        if let words = line.firstMatch(of: /\/\/ refused: (.*)/)?.1 {
          expected["\(file.lastPathComponent):\(number + 1)"] = String(words)
        }
        // The rest of the program sees the model and its columns.
        if let name = line.firstMatch(of: /^@Sqlable.* (?:struct|class) (\w+) {/)?.1 {
          uses += "func use\(name)() { _ = \(name).read().filter(\(name).id == 1).first() }\n"
        }
      }
    }
    try withDirectory { directory in
      let rest = URL(filePath: directory + "/Uses.swift")
      try Data(uses.utf8).write(to: rest)
      let errors = try errors(in: files + [rest])
      for place in Set(expected.keys).union(errors.keys).sorted() {
        let found = errors[place] ?? []
        #expect(found.count == 1, "\(place): \(found)")
        #expect(found.first?.contains(expected[place] ?? "no error") == true, "\(place): \(found)")
      }
    }
  }

  /// Returns the compiler's errors by their places, "File.swift:5".
  private func errors(in files: [URL]) throws -> [String: [String]] {
    let build = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path(percentEncoded: false)
    let library = URL(filePath: #filePath).appending(path: "../../../../../Sources/CSqlableSystemSQLite")
    let compiler = Process()
    compiler.executableURL = URL(filePath: "/usr/bin/env")
    compiler.arguments =
      ["swiftc", "-typecheck", "-wmo", "-swift-version", "6", "-diagnostic-style", "llvm", "-D", "DEBUG"]
      + ["-package-name", "models"]
      + ["-I", build + "Modules", "-I", library.standardizedFileURL.path(percentEncoded: false)]
      + ["-load-plugin-executable", build + "SqlableMacros-tool#SqlableMacros"]
      + files.map { $0.path(percentEncoded: false) }
    let pipe = Pipe()
    compiler.standardError = pipe
    try compiler.run()
    let log = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    compiler.waitUntilExit()

    var errors: [String: [String]] = [:]
    var errorInCode: String?
    for line in log.split(separator: "\n") {
      guard let match = line.firstMatch(of: /([^\/:]+):(\d+):\d+: (error|note): (.*)/) else { continue }
      let (place, text) = ("\(match.1):\(match.2)", String(match.4))
      switch (match.3, !match.1.hasPrefix("@__swiftmacro")) {
      case ("error", true): errors[place, default: []].append(text)
      case ("error", false): errorInCode = text
      default:
        guard let error = errorInCode, text.hasPrefix("in expansion of macro") else { continue }
        errors[place, default: []].append(error)
        errorInCode = nil
      }
    }
    return errors
  }
}
