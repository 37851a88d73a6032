// Constant arguments, which configure a function and are not data.
//
// SQLite matches the expressions of a query with the expressions of an index by text, and a parameter matches nothing.
// An index on `json_extract("doc", '$.kind')` is used only for a statement that contains the path as a literal.

enum Constant {
  case text(String)
  case integer(Int64)

  /// Creates a constant from a text or an integer. Returns nil for any other term, which must be bound or rendered.
  init?(_ term: SqlExpression) {
    switch term.node {
    case .value(.text(let text)): self = .text(text)
    case .value(.integer(let integer)): self = .integer(integer)
    default: return nil
    }
  }
}

extension SqlExpression.BinaryOperator {
  package var takesConstant: Bool { self == .json || self == .jsonValue }
}

extension Renderer {
  func write(constant term: SqlExpression, within strength: Precedence, stack: Int) throws {
    switch Constant(term) {
    case .text(let text): try write(literal: text)
    case .integer(let integer): sql.append(text: "\(integer)")
    case nil: try write(term, within: strength, stack: stack)
    }
  }

  func write(literal text: String) throws {
    guard !text.utf8.contains(0) else {
      throw SqlError.invalidStatement(
        "a text that becomes a literal in the SQL, such as a JSON path or date format, contains a NUL byte")
    }
    sql.append(text.quotedBytes(in: UInt8(ascii: "'")))
  }
}
