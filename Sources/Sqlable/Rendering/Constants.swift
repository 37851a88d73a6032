// What a program has written into its terms: how a function works, and not what it works on.
//
// SQLite compares expressions as they are written, and takes no parameter for another one. An index on
// `json_extract("doc", '$.kind')` serves a statement that spells the way the same, and none that binds it.

/// A constant as the SQL spells it.
enum Constant {
  case text(String)
  case integer(Int64)

  /// Nil for what is bound after all: a number with a fraction, bytes, a parameter, another term.
  init?(_ term: SqlExpression) {
    switch term.node {
    case .value(.text(let text)): self = .text(text)
    case .value(.integer(let integer)): self = .integer(integer)
    default: return nil
    }
  }
}

extension SqlExpression.BinaryOperator {
  /// Whether what stands behind it says how it works.
  var takesConstant: Bool { self == .json || self == .jsonValue }
}

extension Renderer {
  /// Writes a term that says how a function works.
  func write(constant term: SqlExpression, within strength: Strength, stack: Int) throws {
    switch Constant(term) {
    case .text(let text): try write(literal: text)
    case .integer(let integer): sql.append(text: "\(integer)")
    case nil: try write(term, within: strength, stack: stack)
    }
  }

  func write(literal text: String) throws {
    guard !text.utf8.contains(0) else {
      throw SqlError.invalidStatement("a constant of a function, which is written into the SQL, holds a NUL byte")
    }
    sql.append(text.quotedBytes(in: UInt8(ascii: "'")))
  }
}
