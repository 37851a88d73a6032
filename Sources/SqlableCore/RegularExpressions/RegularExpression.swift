/// A regular expression that needs time in proportion to the text, for any pattern and text: `a(b|c)*d`.
///
/// Matching runs all alternatives side by side, one character of the text after the other, so that nothing is tried
/// twice. Syntax that would need a second try, such as backreferences and lookaround, is not supported. Characters are
/// Unicode scalars.
///
/// | syntax | matches |
/// |---|---|
/// | `a`, `\.`, `\n`, `\r`, `\t`, `\x{e9}` | a character |
/// | `.` | any character except a line feed |
/// | `[a-z_]`, `[^0-9]` | one of these characters, or any other |
/// | `\d`, `\w`, `\s`, `\D`, `\W`, `\S` | a digit, a word character, white space, and any other |
/// | `^`, `$` | the beginning and the end of the text |
/// | `\b`, `\B` | the edge of a word, and any other place |
/// | `ab`, `a\|b`, `(…)`, `(?:…)` | one after the other, one or the other, a group |
/// | `a*`, `a+`, `a?`, `a{3}`, `a{2,}`, `a{2,5}` | a number of times; with a further `?` the same |
/// | `(?i)` at the beginning | upper and lower case alike |
package struct RegularExpression: Sendable {
  /// A step of the program. Places are positions in the program.
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
  /// True if the expression can match only at the beginning of the text.
  let isAnchored: Bool

  /// The maximum number of steps of a pattern.
  static let maximumSteps = 2_000
  /// The maximum number in a repetition, such as `a{2,5}`.
  static let maximumCount = 1_000
  /// The maximum nesting depth of groups.
  static let maximumDepth = 50

  /// Throws `.invalidStatement` for a text that is not a regular expression, is not supported, or is too large. The
  /// error says where, and does not contain the pattern.
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
