import Testing

@testable import CheckRules

struct UnusedNamesTests {
  func problems(_ text: String, also others: SourceFile...) -> [String] {
    checkUnusedNames([SourceFile("Sources/SqlableCore/A.swift", text)] + others).problems.map(\.description)
  }

  @Test(arguments: [
    "func zyx() {}", "  static let zyx = 0", "var zyx: Int { 0 }", "struct zyx {}", "final class zyx {}",
    "package protocol zyx {}", "actor zyx {}", "typealias zyx = Int", "  associatedtype zyx", "  class func zyx() {}",
    "  let `zyx` = 0", "  case zyx", "  indirect case zyx(Int)", "enum Zyx: Zyx { case zyx }",
    "  case zyx = \"zyx\" // zyx",
    "func zyx() {} // zyx", "/* zyx */ func zyx() {}",
  ])
  func aNameThatNothingUsesIsFound(declaration: String) {
    let texts = declaration.contains("= \"zyx\"") ? [] : ["Sources/SqlableCore/A.swift:2: nothing uses zyx"]
    #expect(problems("\n" + declaration + "\n") == texts)
  }

  @Test func eachOfSeveralCasesIsFound() {
    #expect(
      problems("enum Zyx: Zyx {\n  case one(Int, two: [Int]), two, three\n}\n")
        == [1, 3].map { "Sources/SqlableCore/A.swift:2: nothing uses \($0 == 1 ? "one" : "three")" })
  }

  @Test(arguments: [
    "public func zyx() {}", "open class zyx {}", "override func zyx() {}", "func zyx() { zyx() }",
    "func zyx() {}\nlet _ = \"a \\(zyx())\"", "func hash(into _: Int) {}", "  enum CodingKeys {}",
    "public enum Zyx {\n  case zyx\n}", "public protocol Zyx {\n  func zyx()\n}", "let _ = 0", "  case .zyx: a()",
    "  case zyx: a()", "  if case zyx = a {}", "  case let a: a()", "// func zyx()", "let _ = \"func zyx\"",
    "let _ = \"\"\"\n  func zyx()\n  \"\"\"", "  let (zyx, b) = c", "@frozen public indirect enum Zyx {\n  case zyx\n}",
  ])
  func usedAndPublicNamesAreNotReported(text: String) {
    #expect(problems(text).isEmpty)
  }

  @Test func publicNamesEndWithTheirPublicType() {
    #expect(
      problems("public enum Zyx {\n  case zyx\n}\nfunc other() {}\n")
        == ["Sources/SqlableCore/A.swift:4: nothing uses other"])
  }

  @Test func useInATestOrExampleCounts() {
    #expect(problems("func zyx() {}", also: .init("Tests/SqlableTests/A.swift", "zyx()")).isEmpty)
    #expect(problems("func zyx() {}", also: .init("Docs/Examples/A.swift", "zyx()")).isEmpty)
    #expect(!problems("func zyx() {}", also: .init("Docs/Queries.md", "zyx()")).isEmpty)
  }

  @Test func onlyTheLibraryIsChecked() {
    #expect(checkUnusedNames([.init("Tests/SqlableTests/A.swift", "func zyx() {}")]).problems.isEmpty)
    #expect(checkUnusedNames([.init("Sources/Flights/A.swift", "func zyx() {}")]).problems.isEmpty)
  }

  @Test func aNameIsUnusedIfAllItsOccurrencesDeclareIt() {
    #expect(
      problems("func zyx(_: Int) {}\nfunc zyx() {}\n")
        == ["Sources/SqlableCore/A.swift:1: nothing uses zyx", "Sources/SqlableCore/A.swift:2: nothing uses zyx"])
  }
}
