import Sqlable

/// A generator of unique Swift names for tables and columns.
struct SwiftNames {
  private let reserved: Set<String>
  private var used: Set<String> = []

  init(reserving names: Set<String>) { reserved = names }

  /// Returns the name of a type: `OrderItem` for `order_item`.
  mutating func type(for name: String) -> String {
    let words = SwiftNames.words(of: name)
    let text = words.isEmpty ? "Table" : words.map { $0.withUpperFirst }.joined()
    return unique(text.beginsWithDigit ? "_" + text : text, "Row")
  }

  /// Returns the name of a property, in backticks if the name is a Swift keyword: `unitPrice` for `unit_price`.
  mutating func property(for name: String) -> String {
    let words = SwiftNames.words(of: name)
    let text = words.isEmpty ? "value" : words[0].withLowerStart + words.dropFirst().map { $0.withUpperFirst }.joined()
    let name = unique(text.beginsWithDigit ? "_" + text : text, "Value")
    return SwiftNames.keywords.contains(name) ? "`\(name)`" : name
  }

  private mutating func unique(_ name: String, _ suffix: String) -> String {
    let name = reserved.contains(name) ? name + suffix : name
    var (candidate, number) = (name, 1)
    while !used.insert(candidate).inserted {
      number += 1
      candidate = "\(name)\(number)"
    }
    return candidate
  }

  /// Splits a name at the characters that Swift names can't contain. A name in capitals is lowercased, because its
  /// capitals do not mark words.
  private static func words(of name: String) -> [String] {
    let isLoud = name == name.uppercased()
    return name.unicodeScalars.split { !$0.isInNames }.map { isLoud ? String($0).lowercased() : String($0) }
  }

  /// The names of types that the generated models use, and of types that Swift does not allow.
  static let reservedTypes: Set<String> = [
    "Any", "Array", "Bool", "Check", "Collate", "Column", "Data", "Date", "Default", "Double", "ForeignKey",
    "ForeignKeys", "Foundation", "FullTextIndex", "Generated", "Index", "Int", "Never", "Null", "Optional",
    "PrimaryKey", "PrimaryKeys", "Protocol", "ReadCell", "ReadRow", "RowWriter", "Self", "SqlValue", "Sqlable",
    "StoredValue", "String", "TableConstraint", "TableOption", "Type", "TypedColumn", "UTF8", "Unindexed", "Unique",
    "Void",
  ]

  /// Names that a property can't have: names of members that every model has, and names that Swift does not allow.
  static let reservedProperties: Set<String> = [
    "column", "databaseValue", "embedded", "init", "modelOfRow", "self", "tableConstraints", "tableFullText",
    "tableIndexes", "tableLayout", "tableName", "tableOptions", "valueForColumn", "write",
  ]

  private static let keywords: Set<String> = [
    "any", "as", "associatedtype", "async", "await", "break", "case", "catch", "class", "consume", "continue", "copy",
    "default", "defer", "deinit", "do", "each", "else", "enum", "extension", "fallthrough", "false", "fileprivate",
    "for", "func", "guard", "if", "import", "in", "inout", "internal", "is", "let", "nil", "open", "operator",
    "package", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "some", "static",
    "struct", "subscript", "super", "switch", "then", "throw", "throws", "true", "try", "typealias", "unsafe", "var",
    "where", "while",
  ]
}

extension String {
  fileprivate var beginsWithDigit: Bool { unicodeScalars.first?.properties.isXIDStart == false }

  fileprivate var withUpperFirst: String { prefix(1).uppercased() + dropFirst() }

  /// The text with leading capitals in lower case, except the first letter of the next word: `httpStatus` for
  /// `HTTPStatus`.
  fileprivate var withLowerStart: String {
    let capitals = prefix { $0.isUppercase }.count
    let isWord = capitals > 1 && capitals < count && dropFirst(capitals).first?.isLowercase == true
    let length = isWord ? capitals - 1 : max(capitals, 1)
    return prefix(length).lowercased() + dropFirst(length)
  }

  var swiftLiteral: String {
    // Only ASCII text becomes a raw literal. In other text, `contains` would miss a quote that forms one `Character`
    // with a combining accent.
    if visible == self, utf8.allSatisfy({ $0 < 128 }), contains("\"") || contains("\\") {
      var signs = "#"
      while contains("\"" + signs) || contains("\\" + signs) { signs += "#" }
      return signs + "\"" + self + "\"" + signs
    }
    return unicodeScalars.reduce(into: "\"") { text, scalar in
      if scalar == "\"" || scalar == "\\" { text += "\\" }
      text += String(scalar).visible
    } + "\""
  }

  var commented: String { split(whereSeparator: \.isWhitespace).joined(separator: " ").visible }
}

extension Unicode.Scalar {
  /// True if a Swift name can contain the scalar: a letter, mark or digit in Swift's ranges.
  fileprivate var isInNames: Bool {
    if isASCII { return properties.isAlphabetic || ("0"..."9").contains(self) }
    guard properties.isXIDContinue, !properties.isEmoji else { return false }
    return ![0x2000...0x206f, 0x2e00...0x2e7f, 0x3000...0x303f].contains { $0.contains(value) }
  }
}
