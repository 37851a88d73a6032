import Foundation
import Testing

@testable import Sqlable

/// Every function of SQLite that the library has in its table can be written on typed and on untyped terms.
@Suite struct FunctionFormTests {
  /// The lines of the files in a folder of the sources.
  private func lines(of folder: String) throws -> [Substring] {
    let sources = GuidesTests.root.appending(path: "Sources")
    let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
    var lines: [Substring] = []
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift", file.path.contains("/\(folder)/") else { continue }
      lines += try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    }
    return lines
  }

  @Test func everyMethodOfTypedTermsIsOneOfUntypedTerms() throws {
    var methods: [Substring: Set<Substring>] = [:]
    var type: Substring?
    for line in try lines(of: "Language/Terms") {
      if let match = line.firstMatch(of: /^(public )?extension (\w+)/) { type = match.2 }
      if line.hasPrefix("}") { type = nil }
      guard let type, let match = line.firstMatch(of: /^  public func (`?\w+`?)/) else { continue }
      methods[type, default: []].insert(match.1)
    }
    let typed = try #require(methods["TypedTerm"])
    let untyped = try #require(methods["SqlTerm"])
    #expect(typed.count > 90)
    // A decimal times a number is a matter of types.
    #expect(typed.symmetricDifference(untyped) == ["times"])
  }

  @Test func everyFunctionIsWrittenByATerm() throws {
    let text = try lines(of: "Language").joined(separator: "\n")
    let missing = SqlExpression.Call.BuiltIn.allCases.filter { !text.contains(".\($0)") }
    #expect(missing == [])
  }
}
