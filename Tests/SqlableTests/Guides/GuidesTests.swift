import Foundation
import Testing

@testable import SqlableTestSupport

/// Tests that the examples of README.md and Docs compile, run and are true. Every Swift block stands in a source of
/// this folder or of a package with its own guide, and every SQL block in an expectation.
@Suite struct GuidesTests {
  @Test(arguments: GuidesTests.guides) func everySwiftBlockIsCompiled(_ guide: String) throws {
    let sources = try GuidesTests.sources()
    for block in try GuidesTests.blocks(of: "swift", in: guide) {
      let imports = block.lines.filter { $0.hasPrefix("import ") }
      let lines = block.lines.filter { !$0.hasPrefix("import ") }
      let isCompiled = sources.contains { source in
        source.lines.contains(lines) && imports.allSatisfy(source.lines.contains)
      }
      #expect(isCompiled, "\(guide), line \(block.line): no source of the guides has this Swift block")
    }
  }

  @Test(arguments: GuidesTests.guides.filter { $0 != GuidesTests.format })
  func everySQLBlockHasAnExpectation(_ guide: String) throws {
    let sources = try GuidesTests.sources().map(\.words)
    for block in try GuidesTests.blocks(of: "sql", in: guide) {
      // A line without indentation starts a new statement.
      for statement in block.statements {
        #expect(
          sources.contains { $0.contains(statement) },
          "\(guide), line \(block.line): no expectation has this SQL: \(statement)")
      }
    }
  }

  @Test(arguments: GuidesTests.guides) func everyTableRowOfSwiftAndSQLHasAnExpectation(_ guide: String) throws {
    let sources = try GuidesTests.sources().map(\.words)
    var isTable = false
    for line in try Repository.text(of: guide).components(separatedBy: "\n") {
      if line == "| Swift | SQL |" {
        isTable = true
      } else if !line.hasPrefix("|") {
        isTable = false
      } else if isTable, !line.hasPrefix("|---") {
        let cells = line.replacingOccurrences(of: "\\|", with: "\u{1}").split(separator: "|").map {
          $0.replacingOccurrences(of: "\u{1}", with: "|").trimmingCharacters(in: CharacterSet(charactersIn: " `"))
        }
        try #require(cells.count >= 2, "\(guide): \(line)")
        let expectation = "(\(cells[0]), #\"\(cells[1])\"#)"
        #expect(sources.contains { $0.contains(expectation) }, "\(guide): no expectation says \(expectation)")
      }
    }
  }

  @Test(arguments: ["Docs/ComingFromGRDB.md", "Docs/ComingFromWCDB.md"])
  func everyEquivalentIsCompiled(_ guide: String) throws {
    let sources = try GuidesTests.sources().map(\.words)
    var rows = 0
    for line in try Repository.text(of: guide).components(separatedBy: "\n") where line.hasPrefix("| `") {
      let cells = line.components(separatedBy: "` | `")
      try #require(cells.count == 2, "\(line)")
      let code = cells[1].trimmingCharacters(in: CharacterSet(charactersIn: " `|"))
      #expect(sources.contains { $0.contains(code) }, "\(guide): no source of the guides has \(code)")
      rows += 1
    }
    #expect(rows > 50)
  }

  @Test(arguments: GuidesTests.guides) func everyLinkLeadsToAFile(_ guide: String) throws {
    let directory = Repository.root.appending(path: guide).deletingLastPathComponent()
    for link in try Repository.text(of: guide).matches(of: /\]\(([^)#]+)(#[^)]*)?\)/) {
      let target = String(link.1)
      guard !target.hasPrefix("http") else { continue }
      #expect(
        FileManager.default.fileExists(atPath: directory.appending(path: target).path), "\(guide) links to \(target)")
    }
  }

  @Test func everyGuideIsInTheIndex() throws {
    let index = try Repository.text(of: "Docs/README.md")
    for guide in GuidesTests.guides where guide.hasPrefix("Docs/") && guide != "Docs/README.md" {
      #expect(index.contains("(\(guide.dropFirst("Docs/".count)))"), "Docs/README.md does not name \(guide)")
    }
  }
}

extension GuidesTests {
  /// README.md and every Markdown file in Docs, as paths from the package's directory.
  static let guides: [String] = {
    let files =
      (try? FileManager.default.contentsOfDirectory(atPath: Repository.root.appending(path: "Docs").path)) ?? []
    return ["README.md"] + files.filter { $0.hasSuffix(".md") }.sorted().map { "Docs/\($0)" }
  }()

  /// The guide whose statements are JSON; `StatementFormatGuide` tests its blocks.
  static let format = "Docs/StatementFormat.md"

  struct Block {
    let line: Int
    let rawLines: [String]

    /// The lines without indentation and blank lines.
    var lines: [String] { rawLines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty } }

    /// The statements, each joined to one line. A statement starts without indentation; its further lines are indented.
    var statements: [String] {
      rawLines.reduce(into: []) { statements, line in
        let words = line.trimmingCharacters(in: .whitespaces)
        if line.hasPrefix(" "), let last = statements.popLast() {
          // A line may end with a subquery's opening parenthesis, which takes no space.
          statements.append(last.hasSuffix("(") ? last + words : "\(last) \(words)")
        } else if !words.isEmpty {
          statements.append(words)
        }
      }
    }
  }

  static func blocks(of language: String, in guide: String) throws -> [Block] {
    var blocks: [Block] = []
    var open: (language: String, line: Int, lines: [String])?
    for (index, line) in try Repository.text(of: guide).components(separatedBy: "\n").enumerated() {
      if !line.hasPrefix("```") {
        open?.lines.append(line)
      } else if let block = open {
        if block.language == language { blocks.append(Block(line: block.line, rawLines: block.lines)) }
        open = nil
      } else {
        open = (String(line.dropFirst(3)), index + 1, [])
        let isKnown = ["swift", "sql", "text", "sh", "json"].contains(line.dropFirst(3))
        #expect(isKnown, "\(guide), line \(index + 1): \(line)")
      }
    }
    #expect(open == nil, "\(guide): a block is not closed")
    return blocks
  }

  struct Source {
    /// The lines without indentation, blank lines, lines that guides omit, and `private`, which separates equal names.
    let lines: [String]
    /// The text with single blanks and joined multi-line literals.
    let words: String

    init(_ text: String) {
      lines = text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { !$0.isEmpty && !$0.hasSuffix("// not shown") }
        .map { line in
          let isHidden = ["struct", "enum", "final class"].contains { line.hasPrefix("private \($0) ") }
          return isHidden ? String(line.dropFirst(8)) : line
        }
      words = text.replacing(/\\#?\n/, with: " ").split(whereSeparator: \.isWhitespace)
        .joined(separator: " ")
    }
  }

  /// The sources that guides may quote: this folder, the shared models, the tests of change logs, macros, traits,
  /// clusters and the command, and the flight questions with their SQL.
  static func sources() throws -> [Source] {
    let folders = [
      "Tests/SqlableTests/Guides", "Tests/SqlableChangesTests", "Tests/SqlableTenantsTests",
      "Tests/SqlableTestSupport",
      "Tests/SqlableTestSupport/Models",
      "Tests/Macros/Tests/ModelTests",
      "Tests/Integrations/Tests/IntegrationTests", "Tests/Cluster/Tests/ClusterTests/Guides",
      "Sources/SqlableTool/Tests/SqlableToolTests", "Docs/Examples/Flights/Sources/Flights/Questions",
      "Docs/Examples/Flights/Tests/FlightsTests",
    ]
    return try folders.flatMap { folder in
      let directory = Repository.root.appending(path: folder)
      return try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasSuffix(".swift") }
        .map { Source(try String(contentsOf: directory.appending(path: $0), encoding: .utf8)) }
    }
  }
}

extension [String] {
  /// Returns whether the array contains `lines` consecutively.
  fileprivate func contains(_ lines: [String]) -> Bool {
    guard let first = lines.first else { return true }
    return indices.contains { self[$0] == first && self[$0...].starts(with: lines) }
  }
}
