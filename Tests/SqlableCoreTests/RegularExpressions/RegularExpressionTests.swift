import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

/// The library's own regular expressions, compared with Swift's.
@Suite struct RegularExpressionTests {
  private func matches(_ pattern: String, _ text: String) throws -> Bool {
    try RegularExpression(pattern).matches(in: text)
  }

  @Test func randomExpressionsMatchLikeSwiftsRegex() throws {
    let seed = SeededGenerator.seed
    var generator = ExpressionGenerator(random: SeededGenerator(seed: seed &+ 77))
    var (found, compared) = (0, 0)
    for _ in 0..<times(600) {
      let ignoresCase = generator.random.next() % 4 == 0
      let pattern = generator.choice(3)
      let own = try RegularExpression((ignoresCase ? "(?i)" : "") + pattern)
      guard let other = try? Regex(pattern) else { continue }
      // By scalars, because Swift takes an e and an accent for one character.
      let expected = other.matchingSemantics(.unicodeScalar).ignoresCase(ignoresCase)
      for _ in 0..<6 {
        let text = generator.text()
        let isFound = text.firstMatch(of: expected) != nil
        compared += 1
        found += isFound ? 1 : 0
        #expect(
          own.matches(in: text) == isFound, "seed \(seed): \(pattern.debugDescription) in \(text.debugDescription)")
      }
    }
    #expect(found > compared / 10)
    #expect(found < compared * 9 / 10)
  }

  @Test(arguments: [
    ("\\bcar\\b", ["car", "a car!", "(car)"], ["cars", "scar", "car_", "car1"]),
    ("\\Bar", ["car", "1ar"], ["ar", " ar"]),
    ("^$", [""], ["a", "\n"]),
    ("a.c", ["abc", "aéc", "a\rc"], ["ac", "a\nc"]),
    ("^\\d+$", ["0", "0123456789", "٣"], ["", "1a", "²"]),
    ("^\\w+$", ["aé_1", "ß", "日本"], ["a b", "a-b", "€"]),
    ("^\\s$", [" ", "\t", "\u{a0}", "\n"], ["", "a"]),
    ("[^a-c]", ["d", "é"], ["a", "abc", ""]),
    ("[\\]\\-a-]", ["]", "-", "a"], ["b", "\\"]),
    ("^[\\d\\D]$", ["1", "x"], ["", "12"]),
    ("\\x41\\x{e9}", ["Aé"], ["A", "ae"]),
    ("\\.\\*\\\\\\/", [".*\\/"], ["a*\\/"]),
    ("^(ab|cd){2,3}$", ["abcd", "ababab"], ["ab", "abababab", "abc"]),
    ("^a{0}b$", ["b"], ["ab"]),
    ("^(a|)+$", ["", "aaa"], ["b"]),
    ("(?i)^straße$", ["STRAßE", "straße"], ["STRASSE"]),
    ("(?i)[é-ë]", ["É", "ê"], ["e"]),
    ("(?i)[^a]", ["b"], ["A", "a"]),
    ("(^a|b)c", ["ac", "xbc"], ["xac"]),
    ("", ["", "a"], []),
    ("a|^b", ["ca", "b"], ["cb"]),
    ("(\\b)*x", ["x"], [""]),
  ])
  func everySyntaxFormMatchesItsTexts(_ pattern: String, _ texts: [String], _ others: [String]) throws {
    for text in texts { #expect(try matches(pattern, text), "\(pattern): \(text.debugDescription)") }
    for text in others { #expect(try !matches(pattern, text), "\(pattern): \(text.debugDescription)") }
  }

  @Test(arguments: [
    ("(", 1),
    (")", 1),
    ("a)", 2),
    ("(a", 1),
    ("[", 1),
    ("[]", 1),
    ("[a", 1),
    ("[z-a]", 2),
    ("[a[b]]", 3),
    ("*", 1),
    ("a**", 3),
    ("a++", 3),
    ("a{2}{3}", 5),
    ("^*", 2),
    ("\\b+", 3),
    ("a{", 2),
    ("a{2", 2),
    ("a{3,2}", 2),
    ("a{,2}", 2),
    ("a{1001}", 2),
    ("\\", 1),
    ("\\q", 1),
    ("\\1", 1),
    ("\\k", 1),
    ("(?=a)", 1),
    ("(?!a)", 1),
    ("(?<n>a)", 1),
    ("a(?i)", 2),
    ("\\xg", 1),
    ("\\x{110000}", 1),
    ("\\x{}", 1),
    ("|(", 2),
    ("é{", 2),
  ])
  func invalidExpressionsAreRefusedWithTheirPosition(_ pattern: String, _ place: Int) {
    let error = expectInvalidStatement { _ = try RegularExpression(pattern) }
    #expect(
      error?.message.hasPrefix("the regular expression is invalid at character \(place): ") == true,
      "\(pattern): \(String(describing: error))")
  }

  @Test func tooLargeExpressionsAreRefusedAtOnce() throws {
    let deep = String(repeating: "(", count: 51) + String(repeating: ")", count: 51)
    for pattern in [
      "(a{1000}){1000}",
      "(((|){1000}){1000}){1000}",
      "(a?){900}{3}",
      String(repeating: "a", count: 2_001),
      String(repeating: "(", count: 100_000),
      String(repeating: "[a]", count: 3_000),
      deep,
      "(((((((((a{9}){9}){9}){9}){9}){9}){9}){9}){9})",
    ] {
      let seconds = threadSeconds { expectInvalidStatement { _ = try RegularExpression(pattern) } }
      #expect(seconds < 5, "\(pattern.prefix(30))")
    }
  }

  @Test(arguments: [
    (String(repeating: "a", count: 1_999), 2_000),
    (String(repeating: "\\x{1f600}", count: 1_999), 2_000),
    ("(" + String(repeating: "\\x{1f600}", count: 900) + "){2}", 1_801),
    ("a{1000}", 1_001),
    ("[" + String(repeating: "a-zé", count: 10_000) + "]", 2),
    ("(((()){1000}){1000}){1000}(a{0}b{0}){1000}(){9,}()*", 1),
    (String(repeating: "a{0}(|b){0}", count: 5_000) + "c", 2),
    ("(" + String(repeating: "()", count: 100_000) + "a){1000}", 1_001),
  ])
  func onlyTheStepsOfAnExpressionAreLimited(_ pattern: String, _ steps: Int) throws {
    var count = 0
    let seconds = try threadSeconds { count = try RegularExpression(pattern).steps.count }
    #expect(count == steps)
    #expect(seconds < 5)
  }

  /// A search through all ranges of the set for each step would take minutes.
  @Test func matchingTimeIsIndependentOfTheLengthOfASet() throws {
    let ranges = (0..<20_000).map { "\\x{\(String(0x10000 + 2 * $0, radix: 16))}" }.shuffled().joined()
    let expression = try RegularExpression("^([\(ranges)]?){900}$")
    let text = String(repeating: "\u{10000}\u{19C3E}", count: 400)
    let seconds = threadSeconds {
      #expect(expression.matches(in: text))
      #expect(!expression.matches(in: text + "\u{10001}"))
    }
    #expect(seconds < 10)
  }

  /// Backtracking engines, Swift's among them, take time that doubles with each character.
  @Test(arguments: ["(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
  func matchingTimeIsLinearInTheText(_ pattern: String) throws {
    let expression = try RegularExpression(pattern)
    let text = String(repeating: "a", count: 2_000) + "!"
    let seconds = threadSeconds { #expect(!expression.matches(in: text)) }
    #expect(seconds < 5)
  }
}

/// A generator of regular expressions and texts of few characters.
private struct ExpressionGenerator {
  var random: SeededGenerator

  private mutating func pick(_ texts: String...) -> String { texts[Int(random.next() % UInt64(texts.count))] }
  private mutating func chance(_ count: UInt64) -> Bool { random.next() % count == 0 }

  mutating func choice(_ depth: Int) -> String {
    (0..<(chance(3) ? 2 : 1)).map { _ in sequence(depth) }.joined(separator: "|")
  }

  private mutating func sequence(_ depth: Int) -> String {
    (0..<random.next() % 4).map { _ in part(depth) }.joined()
  }

  private mutating func part(_ depth: Int) -> String {
    // Without \b, because Swift's \b takes no digit for a part of a word.
    if chance(12) { return pick("^", "$") }
    let atom: String
    if depth > 0, chance(3) {
      atom = pick("(", "(?:") + choice(depth - 1) + ")"
    } else if chance(3) {
      atom = pick(
        "[ab]", "[^ab]", "[a-c_]", "[\\d_]", "[^\\w]", "[é1-3]", "[A-Ca-c]", "[.]", "\\d", "\\w", "\\s", "\\S", "\\D")
    } else {
      atom = pick("a", "b", "c", "é", "1", " ", "_", "A", "\\.", ".")
    }
    return atom + (chance(2) ? pick("*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "+?", "??", "{1,2}?") : "")
  }

  mutating func text() -> String {
    (0..<random.next() % 7).map { _ in pick("a", "b", "c", "é", "1", " ", "_", "\n", "A", "B", ".") }.joined()
  }
}
