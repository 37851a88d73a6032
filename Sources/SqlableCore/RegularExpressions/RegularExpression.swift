/// A regular expression whose matching time is linear in the length of the text, for any pattern: `a(b|c)*d`.
///
/// Matching advances all alternatives in parallel, one character at a time, and never backtracks. Backreferences and
/// lookaround would need backtracking, so they are not supported. Characters are Unicode scalars.
///
/// | syntax | matches |
/// |---|---|
/// | `a`, `\.`, `\n`, `\r`, `\t`, `\x{e9}` | a character |
/// | `.` | any character except a line feed |
/// | `[a-z_]`, `[^0-9]` | a character in the set, or a character outside the set |
/// | `\d`, `\w`, `\s`, `\D`, `\W`, `\S` | a digit, a word character, white space; uppercase inverts the class |
/// | `^`, `$` | the start and the end of the text |
/// | `\b`, `\B` | the edge of a word, and any position that is not an edge |
/// | `ab`, `a\|b`, `(…)`, `(?:…)` | a sequence, alternatives, a group |
/// | `a*`, `a+`, `a?`, `a{3}`, `a{2,}`, `a{2,5}` | repetitions; a following `?` makes no difference |
/// | `(?i)` at the start | ignores case |
package struct RegularExpression: Sendable {
  /// A step of the program. Jump targets are positions in the program.
  package enum Step: Sendable {
    case scalar(Unicode.Scalar)
    case any
    case set(ScalarSet)
    case both(Int, Int)
    case jump(Int)
    case start, end, edge, noEdge
    case match
  }

  let steps: [Step]
  let ignoresCase: Bool
  let isAnchored: Bool

  static let maximumSteps = 2_000
  /// The maximum number in a repetition, such as `a{2,5}`.
  static let maximumCount = 1_000
  static let maximumDepth = 50

  /// Parses an expression. Throws `.invalidStatement`, with the position but not the pattern, if the expression is
  /// invalid, not supported or too large.
  package init(_ text: String) throws(SqlError) {
    var parser = RegularExpressionParser(text)
    let tree = try parser.expression()
    var program = RegularExpressionProgram()
    try program.add(tree)
    try program.append(.match)
    steps = program.steps
    ignoresCase = parser.ignoresCase
    isAnchored = tree.isAnchored
  }
}
