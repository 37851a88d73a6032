import Foundation
import Testing

@testable import CheckRules

struct MessagesTests {
  @Test func literalsAreReadWithTheirPartsAndKinds() {
    let file = SourceFile(
      "Sources/A/B.swift",
      #"""
      // "not this"
      throw SqlError.misuse("table \(name) has no column \(of("x")); 1 # 2")
      throw SqlError(
        .busy,
        message: """
          the file of \(path) \
          is open
          """)
      let other = SqlError(.constraint(.unique), message: "twice "
        + "in \(table)" + "; use one")
      """#)
    let literals = messageLiterals(file)
    #expect(
      literals.map(\.parts) == [
        ["x"],
        ["table ", " has no column ", "; 1 # 2"],
        ["the file of ", " is open"],
        ["twice in ", "; use one"],
      ])
    #expect(literals.map(\.kind) == [nil, "misuse", "busy", "constraint(.unique)"])
    #expect(literals.map(\.line) == [2, 2, 5, 9])
  }

  @Test func theTableIsWrittenIntoTheGuide() throws {
    let list = "# Models\ntable <table> has no key\tmisuse\ta model without a key\tdeclare a `PrimaryKey`\n"
    try RepositoryTests().withRepository([
      Messages.list: list, "Sources/A/B.swift": #"throw SqlError.misuse("table \(name) has no key")"#,
      Messages.guide: "# Errors\n\(Messages.begin)\n\(Messages.end)\n",
    ]) { repository in
      let before = try repository.messages(repository.files(), isCheck: true)
      let written = try repository.messages(repository.files(), isCheck: false)
      let after = try repository.messages(repository.files(), isCheck: true)
      #expect(before.problems.count == 1)
      #expect(written.notes == [Messages.guide])
      #expect(after.problems.isEmpty)
      let guide = try repository.text(Messages.guide)
      #expect(
        guide.contains("| `table <table> has no key` | `.misuse` | a model without a key | declare a `PrimaryKey` |\n"))
    }
  }

  @Test func aMessageThatTheSourcesDoNotHaveIsAProblem() throws {
    let list = "# A\nno key\tmisuse\ta\tb\nno row\tmisuse\ta\tb\nno c…\tmisuse\ta\tb\n"
    try RepositoryTests().withRepository([
      Messages.list: list,
      "Sources/A/B.swift": #"""
      throw SqlError.misuse("no keys")
      throw SqlError(.busy, message: "no row")
      f("no column")
      """#,
      Messages.guide: "\(Messages.begin)\n\(Messages.end)\n",
    ]) { repository in
      let problems = try repository.messages(repository.files(), isCheck: false).problems
      #expect(
        problems.map(\.description) == [
          "Tests/Checks/messages.txt:2: no message of Sources reads: no key",
          "Tests/Checks/messages.txt:3: the message has kind busy, not misuse: no row",
        ])
    }
  }
}
