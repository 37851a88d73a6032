import Testing

@testable import CheckRules

struct TypeCheckingTests {
  let snippets = Snippets([
    SourceFile(
      "Tests/TypeChecking/LongA.swift",
      """
      import Sqlable

      func values(text: String) throws {
        // A comment.
        _ = right(text)
        _ = wrong(text) // refused: cannot convert
        _ = odd(text) // warned: unused
      }
      """)
  ])
  let refused = "./LongA.swift:6:7: error: cannot convert value\nLongA.swift:7:7: warning: variable is unused\n"

  func problems(_ logs: String...) -> [String] { snippets.judge(logs).report.problems.map(\.description) }

  @Test func eachLineBecomesASeparateFunction() {
    #expect(
      snippets.texts == [
        "LongA.swift": """
        import Sqlable


          // A comment.
        func values_5(text: String) throws {   _ = right(text) }
        func values_6(text: String) throws {   _ = wrong(text)  }
        func values_7(text: String) throws {   _ = odd(text)  }


        """
      ])
    #expect(snippets.valid == 1)
    #expect(snippets.refused == 2)
  }

  @Test func expectedDiagnosticsAreNotReported() {
    #expect(problems(refused + "LongA.swift:5:7: warning: expression took 200ms to type-check (limit: 1ms)\n").isEmpty)
  }

  @Test func aLineThatDoesNotCompileIsFound() {
    #expect(
      problems(refused + "LongA.swift:5:7: error: no such thing\n")
        == ["Tests/TypeChecking/LongA.swift:5: does not compile: no such thing"])
  }

  @Test func aLineThatIsNotRefusedIsFound() {
    #expect(
      problems("LongA.swift:7:7: warning: variable is unused\n")
        == ["Tests/TypeChecking/LongA.swift:6: 0 diagnostics instead of one"])
  }

  @Test func twoDiagnosticsAreFound() {
    #expect(
      problems(refused + refused).map { $0.suffix(28) } == Array(repeating: "2 diagnostics instead of one", count: 2))
  }

  @Test func otherWordsAreFound() {
    #expect(
      problems(refused.replacing("unused", with: "used"))
        == ["Tests/TypeChecking/LongA.swift:7: not with 'unused': variable is used"])
  }

  @Test func anotherKindOfDiagnosticIsFound() {
    #expect(
      problems(refused.replacing("error", with: "warning")).first
        == "Tests/TypeChecking/LongA.swift:6: another kind of diagnostic: cannot convert value")
  }

  @Test(arguments: [
    "failed to produce diagnostic", "unable to type-check in reasonable time", "'SelectQuery'", "τ_0_0",
  ])
  func aDiagnosticThatSaysNothingIsFound(text: String) {
    #expect(
      problems(refused.replacing("value", with: text))
        == ["Tests/TypeChecking/LongA.swift:6: says nothing to a user: cannot convert \(text)"])
  }

  @Test func anErrorWithoutAPlaceIsFound() {
    #expect(problems(refused + "error: no such module") == ["Tests/TypeChecking/:0: error: no such module"])
    #expect(problems(refused + "<unknown>:0: error: crash").count == 1)
  }

  @Test func aLineIsSlowIfEveryTrySaysSo() {
    let slow = refused + "LongA.swift:5:7: warning: expression took 201ms to type-check (limit: 1ms)\n"
    let quick = refused + "LongA.swift:5:7: warning: expression took 20ms to type-check (limit: 1ms)\n"
    #expect(problems(slow, slow) == ["Tests/TypeChecking/LongA.swift:5: too slow: 201 ms"])
    #expect(problems(slow, quick).isEmpty)
    #expect(snippets.judge([slow]).isOnlySlow)
    #expect(!snippets.judge([""]).isOnlySlow)
    #expect(
      snippets.judge([slow, quick]).report.notes == [
        "LongA.swift:5: 20 ms", "2 lines are refused, 1 compile", "the slowest that compiles is LongA.swift:5, 20 ms",
      ])
  }

  @Test func aRefusedLineMayTakeLonger() {
    func log(_ time: Int) -> String {
      refused + "LongA.swift:6:7: warning: expression took \(time)ms to type-check (limit: 1ms)\n"
    }
    #expect(problems(log(1500)).isEmpty)
    #expect(problems(log(1501)) == ["Tests/TypeChecking/LongA.swift:6: too slow: 1501 ms"])
  }

  @Test func theTimeOfTheFunctionCounts() {
    func log(_ time: Int) -> String {
      refused + "LongA.swift:6:7: warning: expression took 5ms to type-check (limit: 1ms)\n"
        + "LongA.swift:6:1: warning: global function 'values_6(text:)' took \(time)ms to type-check (limit: 1ms)\n"
    }
    #expect(problems(log(1500)).isEmpty)
    #expect(problems(log(1501)) == ["Tests/TypeChecking/LongA.swift:6: too slow: 1501 ms"])
    #expect(problems(log(1501), log(1501), log(20)).isEmpty)
  }

  @Test func theExpectedErrorMayBeAmongOthers() {
    let snippets = Snippets([
      SourceFile(
        "Tests/TypeChecking/A.swift", "func values() {\n  _ = wrong() // refused among others: cannot convert\n}\n")
    ])
    func problems(_ texts: String...) -> [String] {
      let log = texts.map { "A.swift:2:7: error: \($0)\n" }.joined()
      return snippets.judge([log]).report.problems.map(\.description)
    }
    #expect(problems("cannot convert value", "no such member").isEmpty)
    #expect(problems("no such member", "cannot convert value", "cannot convert value").isEmpty)
    #expect(problems("no such member") == ["Tests/TypeChecking/A.swift:2: 0 diagnostics instead of one"])
  }
}
