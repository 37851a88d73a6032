import Testing

@testable import CheckRules

struct SizesTests {
  let long = String(repeating: "x", count: 117)

  func problems(_ path: String, _ text: String) -> [String] {
    checkSizes([SourceFile(path, text)]).problems.map(\.description)
  }

  @Test func aFileOfOver400LinesIsFound() {
    let lines = String(repeating: "\n", count: 400)
    #expect(problems("Sources/Sqlable/A.swift", lines).isEmpty)
    #expect(
      problems("Sources/Sqlable/A.swift", lines + "\n") == ["Sources/Sqlable/A.swift:401: a file of over 400 lines"])
    #expect(
      problems("Sources/Sqlable/A.swift", lines + "a") == ["Sources/Sqlable/A.swift:401: a file of over 400 lines"])
    #expect(problems("Tests/SqlableTests/A.swift", lines + "\n").isEmpty)
    #expect(problems("README.md", lines + "\n").isEmpty)
  }

  @Test(arguments: ["Sources/Sqlable/A.swift", "Tests/SqlableCoreTests/A.swift", "Docs/Examples/A/Sources/A.swift"])
  func aLineOfOver120ColumnsIsFound(path: String) {
    #expect(problems(path, "\n// \(long)\n").isEmpty)
    #expect(problems(path, "\n//  \(long)\n") == ["\(path):2: 121 columns"])
    #expect(problems(path, "\nxxxx\(long)") == ["\(path):2: 121 columns"])
  }

  @Test func aCharacterIsOneColumn() {
    #expect(problems("Sources/Sqlable/A.swift", "// " + String(repeating: "ü", count: 117)).isEmpty)
    #expect(
      problems("Sources/Sqlable/A.swift", "// " + String(repeating: "ü", count: 118))
        == ["Sources/Sqlable/A.swift:1: 121 columns"])
  }

  @Test func textsOfTestsMayBeLonger() {
    #expect(problems("Tests/SqlableTests/A.swift", "  let a = \"\(long)\"").isEmpty)
    #expect(problems("Tests/SqlableTests/A.swift", "  let a = \"\"\"\n    \(long) x\n    \"\"\"").isEmpty)
    #expect(problems("Sources/Sqlable/A.swift", "  let a = \"\(long)\"") == ["Sources/Sqlable/A.swift:1: 129 columns"])
    #expect(
      problems("Tests/SqlableTests/A.swift", "  // \"a\" \(long)") == ["Tests/SqlableTests/A.swift:1: 126 columns"])
    let late = String(repeating: "x", count: 59) + "\"" + String(repeating: "x", count: 60) + "\""
    #expect(problems("Tests/SqlableTests/A.swift", late) == ["Tests/SqlableTests/A.swift:1: 121 columns"])
  }

  @Test func refusedCodeMayBeLonger() {
    #expect(problems("Tests/TypeChecking/A.swift", "xxxx\(long)").isEmpty)
  }

  @Test(arguments: ["README.md", "Docs/Queries.md", "Docs/Examples/A/README.md"])
  func aLongLineOfAGuideIsFoundInProseOnly(path: String) {
    #expect(problems(path, "\nxxxx\(long)\n") == ["\(path):2: 121 columns"])
    #expect(problems(path, "```swift\nxxxx\(long)\n```\n").isEmpty)
    #expect(problems(path, "```swift\n```\nxxxx\(long)\n") == ["\(path):3: 121 columns"])
    #expect(problems(path, "| xx\(long)\n").isEmpty)
    #expect(problems("CHANGELOG.md", "xxxx\(long)\n").isEmpty)
  }
}
