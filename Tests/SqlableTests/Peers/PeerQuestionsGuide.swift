import Foundation
import Testing

@testable import SqlableTestSupport

/// Tests that Docs/PeerQuestions.md and the tests of this folder have the same questions in the same order.
@Suite struct PeerQuestionsGuide {
  static let guide = "Docs/PeerQuestions.md"
  /// The test files in the order of the guide's sections.
  static let files = ["Reading", "Filters", "Orders", "Joins", "Subqueries", "Associations", "Inserts", "DatesAndJSON"]

  @Test func guideTableListsTheQuestionsOfTheTests() throws {
    let asked = try PeerQuestionsGuide.files.flatMap { file in
      let text = try Repository.text(of: "Tests/SqlableTests/Peers/Peer\(file)Tests.swift")
      return text.matches(of: /asked\.(typed|withSQL)\(\s*"([^"\n]*)",/).map { "\($0.2): \($0.1)" }
    }
    let rows = try PeerQuestionsGuide.rows()
    #expect(asked.count > 150)
    #expect(Set(asked).count == asked.count)
    #expect(rows.map { "\($0.question): \($0.isTyped ? "typed" : "withSQL")" } == asked)
  }

  @Test func everyExpressionOfTheGuideTableIsRun() throws {
    let tests = try PeerQuestionsGuide.files.map { file in
      try Repository.text(of: "Tests/SqlableTests/Peers/Peer\(file)Tests.swift").filter { !$0.isWhitespace }
    }.joined()
    for row in try PeerQuestionsGuide.rows() {
      // Swift's default word boundaries treat db.table as one word.
      let handle = /\bdb\b/.wordBoundaryKind(.simple)
      let isRun = tests.contains(row.swift.replacing(handle, with: "asked.db").filter { !$0.isWhitespace })
      #expect(isRun, "no test has \(row.swift)")
    }
  }

  @Test func guideStatesTheNumberOfQuestions() throws {
    let rows = try PeerQuestionsGuide.rows()
    let typed = rows.count { $0.isTyped }
    let figures = "| \(rows.count) | \(typed) | \(rows.count - typed) | 0 |"
    #expect(try Repository.text(of: PeerQuestionsGuide.guide).contains(figures), "the guide should say \(figures)")
  }

  private struct Row {
    let question: String
    let isTyped: Bool
    let swift: String
  }

  private static func rows() throws -> [Row] {
    try Repository.text(of: guide).components(separatedBy: "\n").compactMap { line -> Row? in
      guard let row = line.firstMatch(of: /^\| (.+) \| (typed|with SQL) \| `(.+)` \|$/) else { return nil }
      let swift = String(row.3).replacing("\\|", with: "|")
      return Row(question: String(row.1), isTyped: row.2 == "typed", swift: swift)
    }
  }
}
