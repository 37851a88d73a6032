import Testing

@testable import CheckRules

struct PlainWordsTests {
  func problems(_ text: String, in path: String = "Docs/Queries.md") -> [String] {
    checkWords([SourceFile(path, text)]).problems.map(\.description)
  }

  @Test(arguments: [
    "whoever", "nobody", "no one", "is told of", "been told of", "tells of", "heard of", "it was looked up",
    "looks whether",
    "are looked at", "taking note of", "in whichever way", "for all that is known", "being let go of",
    "of its own accord",
    "as it were", "goes by the name", "saw to it that", "take care that", "put in doubt", "becomes another one",
  ])
  func aWordThatHasAPlainerOneIsFound(phrase: String) {
    for text in ["a \(phrase) b", "\(phrase.capitalized)", "(\(phrase))."] {
      #expect(problems("\n\(text)\n").map { $0.prefix(21 + phrase.count) } == ["Docs/Queries.md:2: \"\(phrase)\""])
      #expect(problems("\n// \(text)\n", in: "Sources/Sqlable/A.swift").count == 1)
    }
  }

  @Test func theMessageHasTheReplacement() {
    #expect(problems("it tells of it") == ["Docs/Queries.md:1: \"tells of\": reports"])
  }

  @Test func aPhraseMayGoOnInTheNextLine() {
    #expect(problems("it tells\nof it\n") == ["Docs/Queries.md:2: \"tells of\": reports"])
    #expect(problems("- as\n  it were\n") == ["Docs/Queries.md:2: \"as it were\": leave it out"])
    #expect(
      problems("/// As it\n/// were.\n", in: "Sources/Sqlable/A.swift")
        == ["Sources/Sqlable/A.swift:2: \"as it were\": leave it out"])
  }

  @Test func aMessageOfTheLibraryIsProse() {
    #expect(
      problems("\nthrow SqlError(\"nobody\")", in: "Sources/Sqlable/A.swift")
        == ["Sources/Sqlable/A.swift:2: \"nobody\": name the thread, the caller or the process"])
  }

  @Test(arguments: [
    "foretells of", "tells_of", "tells off", "tells, of", "tells. Of", "it tells.\nOf it", "tells  of",
    "```\ntells of\n```", "tells\n\nof", "tells\n```\n```\nof", "tell\ntell", "as it",
  ])
  func otherWordsAreNotReported(text: String) {
    #expect(problems(text).isEmpty)
  }

  @Test func testsAreNotProse() {
    #expect(problems("// nobody", in: "Tests/SqlableTests/A.swift").isEmpty)
  }
}
