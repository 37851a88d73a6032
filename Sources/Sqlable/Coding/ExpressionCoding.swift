// The JSON form of expressions:
// {"binary":{"_0":"=","_1":{"column":{"_0":"color"}},"_2":{"value":{"_0":{"text":"red"}}}}}.
//
// Written by hand: the synthesized code for so many cases uses more stack per level than a deep tree leaves.

extension SqlExpression: Codable {
  public init(from decoder: any Decoder) throws {
    // A tree is built from its leaves up, so its depth is known too late: the coding path prevents a stack overflow.
    let path = decoder.codingPath
    if path.count > SqlExpression.maximumDepth,
      path.count(where: { $0.intValue == nil && !$0.stringValue.hasPrefix("_") }) > SqlExpression.maximumDepth + 10
    {
      throw SqlError.invalidStatement("an expression is more than \(SqlExpression.maximumDepth) terms deep")
    }
    self.init(try Node(from: decoder))
  }

  public func encode(to encoder: any Encoder) throws { try node.encode(to: encoder) }
}

/// The keys of a term's parts.
private enum Part: String, CodingKey {
  case first = "_0"
  case second = "_1"
  case third = "_2"
  case escape
}

extension SqlExpression.Node.Form {
  fileprivate var keys: [Part] {
    switch self {
    case .qualified, .call, .special, .query: []
    case .column, .value, .parameter, .all, .any, .not, .negative, .isNull, .isNotNull, .invalid: [.first]
    case .isIn, .function, .collate: [.first, .second]
    case .binary, .between: [.first, .second, .third]
    case .like: [.first, .second, .escape]
    }
  }
}

extension SqlExpression.Node: Codable {

  // MARK: Encoding

  func encode(to encoder: any Encoder) throws {
    let parts = try self.parts
    var container = encoder.container(keyedBy: Form.self)
    var nested = container.nestedContainer(keyedBy: Part.self, forKey: form)
    for (key, part) in parts { try nested.encode(part, forKey: key) }
  }

  private var parts: [(Part, any Encodable)] {
    get throws {
      switch self {
      case .column(let column): [(.first, column)]
      case .value(let value): [(.first, value)]
      case .parameter(let name): [(.first, name)]
      case .all(let terms), .any(let terms): [(.first, terms)]
      case .not(let term), .negative(let term), .isNull(let term), .isNotNull(let term): [(.first, term)]
      case .binary(.json, _, _), .binary(.jsonValue, _, _):
        throw SqlError.invalidStatement("a statement with JSON paths can't be encoded")
      case .binary(let operation, let left, let right): [(.first, operation), (.second, left), (.third, right)]
      case .between(let term, let low, let high): [(.first, term), (.second, low), (.third, high)]
      case .isIn(let term, let values): [(.first, term), (.second, values)]
      case .like(let term, let pattern, let escape): [(.first, term), (.second, pattern), (.escape, escape)]
      case .collate(let term, let collation): [(.first, term), (.second, collation)]
      case .call(let call):
        if let function = call.elementary {
          [(.first, function.name), (.second, call.arguments)]
        } else {
          throw Self.withoutForm
        }
      case .qualified, .special, .query: throw Self.withoutForm
      case .invalid(let term): throw term.error
      }
    }
  }

  // MARK: Decoding

  init(from decoder: any Decoder) throws {
    let (form, parts) = try Self.parts(of: decoder)
    switch form {
    case .column: self = .column(try Self.first(parts))
    case .value: self = .value(try Self.first(parts))
    case .parameter: self = .parameter(try Self.first(parts))
    case .all: self = .all(try Self.first(parts))
    case .any: self = .any(try Self.first(parts))
    case .not: self = .not(try Self.first(parts))
    case .negative: self = .negative(try Self.first(parts))
    case .isNull: self = .isNull(try Self.first(parts))
    case .isNotNull: self = .isNotNull(try Self.first(parts))
    case .binary:
      self = try Self.three(parts) { .binary($0, $1, $2) }
      if case .binary(let operation, _, _) = self, operation == .json || operation == .jsonValue {
        throw Self.unknownTerm
      }
    case .between: self = try Self.three(parts) { .between($0, $1, $2) }
    case .isIn: self = try Self.two(parts) { .isIn($0, $1) }
    case .function: self = try Self.call(parts.decode([SqlExpression].self, forKey: .second), parts)
    case .collate: self = try Self.two(parts) { .collate($0, $1) }
    case .like:
      let escape = try parts.decode(String.self, forKey: .escape)
      self = try Self.two(parts) { .like($0, $1, escape: escape) }
    case .qualified, .call, .special, .query, .invalid: throw Self.unknownTerm
    }
  }

  private static func parts(of decoder: any Decoder) throws -> (Form, KeyedDecodingContainer<Part>) {
    let container = try decoder.container(keyedBy: AnyKey.self)
    guard container.allKeys.count == 1, let form = Form(rawValue: container.allKeys[0].stringValue) else {
      throw unknownTerm
    }
    try container.nestedContainer(keyedBy: AnyKey.self, forKey: container.allKeys[0]).check(are: form.keys)
    return (form, try decoder.container(keyedBy: Form.self).nestedContainer(keyedBy: Part.self, forKey: form))
  }

  private static var withoutForm: SqlError {
    .invalidStatement("a statement with subqueries, aliases or functions can't be encoded")
  }

  private static var unknownTerm: SqlError {
    .invalidStatement("the statement contains an unknown term")
  }

  /// A separate function, called after decoding the arguments, so that its stack frame is not part of each level.
  @inline(never)
  private static func call(_ arguments: [SqlExpression], _ parts: KeyedDecodingContainer<Part>) throws -> Self {
    guard let call = SqlExpression.Call(elementary: try first(parts), arguments) else { throw unknownTerm }
    return .call(call)
  }

  private static func first<First: Decodable>(_ parts: KeyedDecodingContainer<Part>) throws -> First {
    try parts.decode(First.self, forKey: .first)
  }

  private static func two<First: Decodable, Second: Decodable>(
    _ parts: KeyedDecodingContainer<Part>, _ node: (First, Second) -> Self
  ) throws -> Self {
    node(try parts.decode(First.self, forKey: .first), try parts.decode(Second.self, forKey: .second))
  }

  private static func three<First: Decodable>(
    _ parts: KeyedDecodingContainer<Part>, _ node: (First, SqlExpression, SqlExpression) -> Self
  ) throws -> Self {
    node(
      try parts.decode(First.self, forKey: .first), try parts.decode(SqlExpression.self, forKey: .second),
      try parts.decode(SqlExpression.self, forKey: .third))
  }
}
