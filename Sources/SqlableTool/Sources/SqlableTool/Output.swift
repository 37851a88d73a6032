import Foundation

enum Output {
  /// Writes the whole text. Errors are ignored, because a closed output must not make the command fail.
  static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 {
        guard errno == EINTR else { return }
      } else {
        bytes = bytes.dropFirst(count)
      }
    }
  }
}

extension Output {
  /// Returns a value as JSON, with a line feed at the end.
  static func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
  }
}

/// An error message for a file or command that can't be used.
struct FileProblem: Error, CustomStringConvertible {
  let description: String

  /// Returns the error for a command that this build of the program lacks.
  static func needsTrait(_ trait: String) -> FileProblem {
    FileProblem(
      description: """
        the command needs the package trait \(trait): \
        swift run --package-path Sources/SqlableTool --traits \(trait) sqlable …
        """)
  }
}

func decoded<Value: Decodable>(_ type: Value.Type, from path: String, _ description: String) throws -> Value {
  let data = try contents(of: path)
  do { return try JSONDecoder().decode(type, from: data) } catch {
    throw FileProblem(description: "\(path): not a \(description)")
  }
}

func contents(of path: String) throws -> Data {
  do {
    if path == "-" { return try FileHandle.standardInput.readToEnd() ?? Data() }
    return try Data(contentsOf: URL(fileURLWithPath: path))
  } catch {
    throw FileProblem(description: "\(path): can't read the file")
  }
}
