import Foundation
import SqlableCore
import SqlableDocuments
import Testing

@testable import SqlableDocumentsTestSupport
@testable import SqlableTestSupport

/// The peak memory of reading a document, in bytes for each byte of the document. A separate process measures each
/// document, because memory that other tests freed would hide the peak.
@Suite(.enabled(if: TestProgram.isAvailable && !isSanitized, "the tests are no program of their own here"))
struct DocumentMemoryTests {
  /// The limits that `JSONReader` and `AnyStatement` document.
  private static let (most, mostOfStatements) = (40, 100)

  @Test(arguments: DenseDocument.allCases)
  func peakMemoryIsAtMostAMultipleOfTheDocument(_ document: DenseDocument) throws {
    let process = try TestProgram.start(
      "DocumentMemoryProcess", environment: [DenseDocument.variable: document.rawValue])
    let output = String(decoding: process.output.readDataToEndOfFile(), as: UTF8.self)
    #expect(process.waitUntilExit())
    let line = try #require(output.split(separator: "\n").last { $0.hasPrefix(DenseDocument.mark) })
    let bytes = try #require(Int(line.dropFirst(DenseDocument.mark.count)))
    let limit = document.isStatement ? DocumentMemoryTests.mostOfStatements : DocumentMemoryTests.most
    print("\(document): \(Double(bytes) / Double(document.data.count)) bytes for each")
    #expect(bytes <= limit * document.data.count, "\(bytes) for \(document.data.count)")
    // A very small figure means that the measurement failed.
    #expect(bytes >= document.data.count / 2, "\(bytes) for \(document.data.count)")
  }
}

/// The measured process, which reads one document.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[DenseDocument.variable] != nil, "a process of its own"))
struct DocumentMemoryProcess {
  @Test func readingPrintsThePeakMemory() throws {
    let document = try #require(ProcessInfo.processInfo.environment[DenseDocument.variable].flatMap(DenseDocument.init))
    let data = document.data
    func read(_ data: Data) -> SqlError? {
      sqlError { _ = try AnyStatement(json: data, rules: StatementRules(models: documentModels)) }
    }
    // The first read fills caches, which are not part of the measurement.
    _ = read(Data(#"{"read":{"from":"person","where":{"in":[{"column":"name"},["x"]]}},"sqlable":1}"#.utf8))
    try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
    let before = try peak()
    let error = read(data)
    let after = try peak()
    #expect(document.isStatement == (error == nil), "\(String(describing: error))")
    print("\n\(DenseDocument.mark)\(after - before)")
  }

  /// Returns the peak of resident memory, in bytes, since the write to `clear_refs`.
  private func peak() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(Int(line.split(separator: " ")[1])) * 1_024
  }
}

/// Documents that need much memory for each byte.
enum DenseDocument: String, CaseIterable {
  case numbers, lists, objects, keys, texts, escapes
  case values, shortLists, conditions, results, rows

  static let variable = "SQLABLE_DENSE_DOCUMENT"
  static let mark = "bytes at the peak: "

  var isStatement: Bool { [.values, .shortLists, .conditions, .results, .rows].contains(self) }

  var data: Data {
    func list(_ part: String, _ count: Int) -> String { String(repeating: part + ",", count: count) + part }
    func read(_ query: String) -> String { #"{"read":{\#(query)},"sqlable":1}"# }
    let text =
      switch self {
      // Each value takes two bytes of the document.
      case .numbers: "[\(list("0", 2_500_000))]"
      case .lists: "[\(list("[0]", 1_000_000))]"
      case .objects: "[\(list(#"{"":0}"#, 600_000))]"
      case .keys: "{\((0..<400_000).map { "\"\($0)\":0" }.joined(separator: ","))}"
      case .texts: "[\(list(#""0123456789abcdef""#, 200_000))]"
      case .escapes: "\"\(String(repeating: #"\n"#, count: 2_000_000))\""
      case .values: read(#""from":"person","where":{"in":[{"column":"id"},[\#(list("0", 1_500_000))]]}"#)
      case .shortLists: read(#""from":"person","orderBy":[\#(list(#"{"asc":{"in":[1,[]]}}"#, 100_000))]"#)
      case .conditions: read(#""from":"person","where":{"and":[\#(list("0", 500_000))]}"#)
      case .results: read(#""from":"person","select":[\#(list("0", 500_000))]"#)
      case .rows: #"{"insert":{"into":"person","rows":[\#(list(#"{"name":""}"#, 200_000))]},"sqlable":1}"#
      }
    return Data(text.utf8)
  }
}
