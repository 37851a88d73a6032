import Foundation
import Sqlable
import Testing

@testable import SqlableDocumentsTestSupport
@testable import SqlableTestSupport

/// Tests that every document of Docs/StatementFormat.md is canonical and has the SQL below it.
@Suite struct StatementFormatGuide {
  private func compact(_ lines: [String]) -> String {
    let text = lines.joined(separator: "\n")
    var (result, isInText, isEscaped) = ("", false, false)
    for character in text where isInText || !character.isWhitespace {
      if character == "\"", !isEscaped { isInText.toggle() }
      isEscaped = isInText && character == "\\" && !isEscaped
      result.append(character)
    }
    return result
  }

  @Test(.needs(35, "RETURNING")) func everyStatementIsCanonicalAndHasItsSQL() throws {
    let statements = try GuidesTests.blocks(of: "json", in: GuidesTests.format)
    let sql = try GuidesTests.blocks(of: "sql", in: GuidesTests.format)
    let schema = try JSONSchema.ofStatements()
    #expect(statements.count >= 13)
    #expect(sql.count >= 12)
    for (index, block) in statements.enumerated() {
      let json = Data(compact(block.rawLines).utf8)
      let place: Comment = "line \(block.line)"
      let statement = try CorpusStatement(json: json)
      #expect(String(decoding: statement.json, as: UTF8.self) == String(decoding: json, as: UTF8.self), place)
      #expect(schema.allows(try JSONSerialization.jsonObject(with: json)), place)
      let end = index + 1 < statements.count ? statements[index + 1].line : .max
      for expected in sql where expected.line > block.line && expected.line < end {
        #expect(expected.statements == [statement.sql], place)
      }
    }
    // Every SQL block stands below a statement.
    for block in sql { #expect(statements.contains { $0.line < block.line }) }
  }

  @Test func everyTermIsCanonicalAndHasItsSQL() throws {
    var (model, count) = (String?.none, 0)
    for line in try Repository.text(of: GuidesTests.format).components(separatedBy: "\n") {
      if let header = line.firstMatch(of: /^\| term of ([a-z]+) \| SQL \|$/) {
        model = String(header.1)
      } else if !line.hasPrefix("|") {
        model = nil
      } else if let model, !line.hasPrefix("|---") {
        let cells = cells(line)
        try #require(cells.count == 2, "\(line)")
        count += 1
        let term = compact([cells[0]])
        let json = #"{"read":{"from":"\#(model)","select":[\#(term)]},"sqlable":1}"#
        let statement = try CorpusStatement(json: Data(json.utf8))
        #expect(statement.sql == #"SELECT \#(cells[1]) FROM "\#(model)""#)
        #expect(String(decoding: statement.json, as: UTF8.self) == json)
      }
    }
    #expect(count > 40)
  }

  @Test func everyValueIsCanonical() throws {
    let lines = try Repository.text(of: GuidesTests.format).components(separatedBy: "\n")
    let start = try #require(lines.firstIndex(of: "| value | class |"))
    for line in lines[(start + 2)...].prefix(while: { $0.hasPrefix("|") }) {
      let cells = cells(line)
      let json = #"{"read":{"from":"car","select":[\#(compact([cells[0]]))]},"sqlable":1}"#
      let statement = try CorpusStatement(json: Data(json.utf8))
      let value = try #require(statement.bindings.first)
      let name = "\(value.storageClass)".uppercased()
      #expect(cells[1].contains(name), "\(line): \(name)")
      #expect(String(decoding: statement.json, as: UTF8.self) == json)
    }
  }

  private func cells(_ line: String) -> [String] {
    line.replacingOccurrences(of: "\\|", with: "\u{1}").split(separator: "|").map {
      $0.replacingOccurrences(of: "\u{1}", with: "|").trimmingCharacters(in: CharacterSet(charactersIn: " `"))
    }
  }

  /// The guide lists every function and type of the schema.
  @Test func everyWordOfTheSchemaIsInTheGuide() throws {
    let text = try Repository.text(of: GuidesTests.format)
    let words = try JSONSchema.ofStatements().words
    let missing = words.filter { !$0.hasSuffix("?") && !text.replacing("\\|", with: "|").contains($0) }
    #expect(missing.isEmpty)
  }
}
