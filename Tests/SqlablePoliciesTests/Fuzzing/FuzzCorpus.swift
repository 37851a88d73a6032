import Foundation

// Tests/Fuzzing has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// Documents of the fuzzer: files in a directory, or lines in one file. In a line, a byte outside printable ASCII is
/// `\x` and two digits, and a backslash is doubled.
struct FuzzCorpus {
  let documents: [[UInt8]]

  init(directory: String) throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: directory).filter { !$0.hasSuffix(".sql") }
    documents = try files.sorted().map { try Array(Data(contentsOf: URL(fileURLWithPath: "\(directory)/\($0)"))) }
  }

  init(file: String) throws {
    let lines = try Data(contentsOf: URL(fileURLWithPath: file)).split(separator: UInt8(ascii: "\n"))
    documents = lines.map { FuzzCorpus.document($0) }
  }

  func write(directory: String) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    for (index, document) in documents.enumerated() {
      try Data(document).write(to: URL(fileURLWithPath: "\(directory)/corpus-\(index)"))
    }
  }

  func write(file: String) throws {
    let lines = documents.filter { !$0.isEmpty }.map { FuzzCorpus.line($0) }
    try Data((lines.sorted() + [""]).joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: file))
  }

  static func line(_ document: [UInt8]) -> String {
    document.map { byte in
      switch byte {
      case UInt8(ascii: "\\"): #"\\"#
      case 0x20...0x7E: String(UnicodeScalar(byte))
      default: #"\x"# + String(byte, radix: 16).leftPadded
      }
    }.joined()
  }

  static func document(_ line: some Collection<UInt8>) -> [UInt8] {
    var (document, rest) = ([UInt8](), Array(line)[...])
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "x") else {
        document.append(byte)
        continue
      }
      document.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
      rest = rest.dropFirst(2)
    }
    return document
  }
}

extension String {
  fileprivate var leftPadded: String { count < 2 ? "0" + self : self }
}
