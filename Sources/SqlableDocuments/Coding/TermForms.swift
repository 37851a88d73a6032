import SqlableCore
import SqlableQueries

/// The forms of terms in documents. The raw value is the key of the form. A binary operator's key is its SQL.
///
/// To add a form, add its key here and fix the compiler errors: the encoder and the decoder switch over all forms.
enum TermForm: String, CaseIterable, Sendable {
  // Values. Text and most integers are written without a key.
  case null, integer, real, blob, parameter
  case column
  case and, or, not, negative, isNull, isNotNull, between, `in`, like, collate
  case function, registered
  case `case`, cast, inverted, datePart, strftime, date, shift, startOf, unixSeconds
  /// A tuple of terms. Allowed only in a comparison with another tuple, or on the left of IN.
  case row
  /// A subquery that is used as a value, as a condition, or for the number of its rows.
  case query, exists, count
  // Full-text search.
  case matches, search, weighting, rank, snippet, highlight

  var otherKeys: [String] {
    switch self {
    case .null, .integer, .real, .blob, .parameter, .and, .or, .not, .negative, .isNull, .isNotNull, .between, .in: []
    case .inverted, .strftime, .date, .unixSeconds, .query, .exists, .count, .rank, .row: []
    case .column: ["of", "model"]
    case .like: ["escape"]
    case .collate, .cast: ["as"]
    case .function, .registered: ["arguments", "distinct", "orderBy", "filter", "over"]
    case .case: ["else"]
    case .datePart: ["part"]
    case .shift: ["by", "unit"]
    case .startOf: ["unit"]
    case .matches: ["of", "for"]
    case .search, .weighting: ["for"]
    case .snippet: ["text", "marks", "tokens"]
    case .highlight: ["text", "marks"]
    }
  }

  static let byKey: [String: TermForm] = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })
}

extension SqlExpression.BinaryOperator {
  static let byKey: [String: Self] = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })
}

extension ColumnType {
  /// The name of the type in documents: `text`, or `text?` for a nullable type.
  var documentName: String {
    let name =
      switch base {
      case .integer: "integer"
      case .real: "real"
      case .text: "text"
      case .blob: "blob"
      case .boolean: "boolean"
      case .date(let format): "date.\(format.rawValue)"
      case .any: "any"
      case .decimal(let scale): "decimal.\(scale)"
      }
    return isNullable ? name + "?" : name
  }

  private static let byDocumentName: [String: ColumnType] = {
    let types = Base.all.flatMap { [ColumnType($0), ColumnType($0, isNullable: true)] }
    return Dictionary(uniqueKeysWithValues: types.map { ($0.documentName, $0) })
  }()

  init?(documentName: String) {
    guard let type = ColumnType.byDocumentName[documentName] else { return nil }
    self = type
  }
}

extension JSONStep {
  /// Parses a JSON path in the spelling that the library writes. Returns nil for any other path.
  static func steps(ofPath path: String) -> [JSONStep]? {
    var rest = path.utf8.dropFirst()[...]
    guard path.utf8.first == UInt8(ascii: "$") else { return nil }
    var steps: [JSONStep] = []
    while let first = rest.first {
      rest = rest.dropFirst()
      switch first {
      case UInt8(ascii: "["):
        guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return nil }
        if rest[..<end].elementsEqual("#".utf8) {
          steps.append(.end)
          rest = rest[rest.index(after: end)...]
          continue
        }
        let digits = rest[..<end].drop { $0 == UInt8(ascii: "#") }
        guard let position = Int(String(decoding: digits, as: UTF8.self)) else { return nil }
        steps.append(.position(position))
        rest = rest[rest.index(after: end)...]
      case UInt8(ascii: "."):
        let isQuoted = rest.first == UInt8(ascii: "\"")
        if isQuoted { rest = rest.dropFirst() }
        let end =
          isQuoted
          ? rest.firstIndex(of: UInt8(ascii: "\""))
          : rest.firstIndex { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "[") } ?? rest.endIndex
        guard let end else { return nil }
        steps.append(.key(String(decoding: rest[..<end], as: UTF8.self)))
        rest = rest[(isQuoted ? rest.index(after: end) : end)...]
      default: return nil
      }
    }
    // A path in any other spelling would change when the path is encoded and decoded.
    guard case .value(.text(path)) = SqlExpression.path(steps).node else { return nil }
    return steps
  }
}
