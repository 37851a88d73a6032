import FoundationEssentials
import SqlableCore

/// A row's position in an ordered list, as text for a URL or a JSON document.
///
/// ```swift
/// struct Answer: Encodable { var bikes: [Bicycle]; var next: PageToken? }
///
/// let list = Bicycle.read().orderBy(Bicycle.color, .desc)
/// let token = query["after"].map(PageToken.init(rawValue:))
/// let bikes = try await list.page(after: token, limit: 50).run(pool)
/// return Answer(bikes: bikes, next: try list.pageToken(after: bikes.last))
/// ```
///
/// The text has only letters, digits, `-` and `_`. A token is valid only for the table and order that it was made for,
/// but with any filter. It stays valid if the row is deleted.
///
/// The text contains the row's values for the order's terms, neither encrypted nor signed. A client can make a token
/// for another position in the same list, but reads only rows that match the statement's filter.
public struct PageToken: RawRepresentable, Sendable, Hashable, Codable {
  public let rawValue: String

  /// Creates a token from the text of a client. Running a statement for the page after this token throws if the text is
  /// not a valid token.
  public init(rawValue: String) { self.rawValue = rawValue }

  private struct Contents: Codable {
    let order: String
    let values: [DatabaseValue]
  }

  init(_ order: [OrderTerm], of table: TableInfo, after values: [DatabaseValue]) throws {
    let encoder = JSONEncoder()
    // Sort the keys, so that equal positions have equal tokens.
    encoder.outputFormatting = .sortedKeys
    let data = try encoder.encode(Contents(order: PageToken.identity(order, table), values: values))
    let text = data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
    rawValue = String(text.prefix { $0 != "=" })
  }

  /// Returns the values of the order's terms. Throws `.invalidStatement` unless the token belongs to this order.
  func values(in order: [OrderTerm], of table: TableInfo) throws -> [DatabaseValue] {
    let text = rawValue.replacing("-", with: "+").replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    guard let data = Data(base64Encoded: text + padding),
      let contents = try? JSONDecoder().decode(Contents.self, from: data)
    else { throw PageToken.refused("the page token is damaged", table) }
    guard contents.order == PageToken.identity(order, table) else {
      throw PageToken.refused("the page token belongs to another table or order", table)
    }
    guard contents.values.count == order.count else { throw PageToken.refused("the page token is damaged", table) }
    for (term, value) in zip(order, contents.values) {
      let position = try table.position(ofPageTerm: term)
      let fits = value == .null ? table.isNullAllowed(at: position) : table.columns[position].type.stores(value)
      guard fits else { throw PageToken.refused("the page token is damaged", table) }
    }
    return contents.values
  }

  private static func refused(_ problem: String, _ table: TableInfo) -> SqlError {
    SqlError.invalidStatement(problem + "; start with the first page").at(table: table.name)
  }

  private static func identity(_ order: [OrderTerm], _ table: TableInfo) -> String {
    let terms = order.map { "\($0.expression.pageTermName) \($0.direction.rawValue)" }
    let hash = SHA256.hex(Array(([table.name] + terms).joined(separator: "\n").utf8))
    return String(hash.prefix(16))
  }
}

extension TableInfo {
  fileprivate func isNullAllowed(at position: Int) -> Bool { mayBeNull(position) && !key.contains(position) }
}

extension SqlExpression {
  /// The column's name with its collations, for a term that is a column.
  fileprivate var pageTermName: String {
    switch node {
    case .column(let reference): reference.name
    case .collate(let operand, let collation): "\(operand.pageTermName) COLLATE \(collation.rawValue)"
    default: ""
    }
  }
}
