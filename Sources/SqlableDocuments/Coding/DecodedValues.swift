// Checks of values in decoded terms against the columns. Terms written in Swift get the same checks.

import SqlableCore

extension SqlExpression {
  static func checkCompared(_ terms: [SqlExpression], _ scope: Scope) throws {
    for term in terms {
      guard let column = term.comparedColumn, column.type.storageClass != .blob else { continue }
      for case .value(let value) in terms.map(\.node) where !column.type.compares(with: value.storageClass) {
        throw column.type.mismatch(value.storageClass).at(
          table: scope.tableName(of: .declared(column)), column: column.name)
      }
    }
  }

  private var comparedColumn: ColumnDefinition? {
    switch node {
    case .column(let reference), .qualified(_, let reference): reference.definition
    default: nil
    }
  }

  func checkIsPattern(_ scope: Scope) throws {
    guard case .value(let value) = node, ![.text, .null].contains(value.storageClass) else { return }
    throw SqlError.encoding(expected: "TEXT", found: "\(value.storageClass)").at(table: scope.table.name)
  }

  func checkIsStored(in column: Column, of table: TableInfo) throws {
    if case .value(let value) = node {
      guard column.type.stores(value) else {
        throw column.type.mismatch(value.storageClass).at(table: table.name, column: column.name)
      }
    } else if case .invalid(let term) = storable(in: column).node {
      throw term.error.at(table: table.name, column: column.name)
    }
  }
}

extension FullTextTable {
  /// True if FTS5 accepts the text as a column weight: `1.5`.
  static func isWeight(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return text.utf8.count <= 20 && parts.count == 2
      && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
  }

  /// Returns the weights in the text of a ranking function; nil for any other text.
  static func weights(in text: String) -> [String]? {
    guard text.hasPrefix("bm25("), text.hasSuffix(")") else { return nil }
    let weights = text.dropFirst(5).dropLast().split(separator: ", ").map(String.init)
    return weights.allSatisfy(isWeight) && ranking(weights).isExactly(text) ? weights : nil
  }
}
