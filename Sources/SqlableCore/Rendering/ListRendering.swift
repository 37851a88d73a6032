extension Renderer {
  func writeList(_ expression: SqlExpression, stack: Int) throws {
    guard case .isIn(let term, let values) = expression.node else { return }
    try write(term, within: .comparison, stack: stack)
    if let terms = term.rowTerms { write(rows: values, width: terms.count) } else { write(list: values) }
  }

  /// Writes a list of row values. Avoids `IN (VALUES …)`, a compound SELECT for which SQLite uses no index.
  private func write(rows values: [DatabaseValue], width: Int) {
    let columns = ValueListModule.columns.prefix(width)
    if parameters.lists == .pointers, width <= columns.count {
      sql.append(" IN (SELECT ")
      sql.append(text: columns.joined(separator: ", "))
      sql.append(" FROM ")
      sql.append(text: ValueListModule.name)
      sql.append("(?))")
      parameters.append(ValueList(values, width: width))
    } else if parameters.lists == .expanded, let text = jsonRows(of: values, width: width) {
      sql.append(" IN (SELECT ")
      sql.append(text: (1...width).map { "v\($0).value" }.joined(separator: ", "))
      sql.append(" FROM json_each(")
      write(.text(text))
      sql.append(") AS r")
      for position in 1...width {
        sql.append(text: " JOIN json_each(r.value) AS v\(position) ON v\(position).key = \(position - 1)")
      }
      sql.append(")")
    } else {
      sql.append(" IN (SELECT * FROM (VALUES ")
      for (index, value) in values.enumerated() {
        if index > 0 { sql.append(index % width == 0 ? "), (" : ", ") } else { sql.append("(") }
        write(value)
      }
      sql.append(")))")
    }
  }

  private func write(list values: [DatabaseValue]) {
    let form = parameters.lists == .literal ? .unpadded : ListForm(values, isOrdering: isOrdering)
    switch form {
    case .unpadded where parameters.lists == .expanded && !isOrdering && !values.isEmpty:
      // Bind the list as one JSON array if JSON can represent the values: then the SQL does not depend on the list's
      // length.
      guard let text = jsonArray(of: values) else { fallthrough }
      sql.append(" IN (SELECT value FROM json_each(")
      write(.text(text))
      sql.append("))")
    case .unpadded where parameters.lists != .pointers:
      // In ORDER BY, older SQLite versions read `IN ()` as a column's position. An empty list is therefore a subquery,
      // except in declarations.
      let isQuery = values.isEmpty && parameters.lists == .expanded
      sql.append(isQuery ? " IN (SELECT 0 WHERE 0" : " IN (")
      for (index, value) in values.enumerated() {
        if index > 0 { sql.append(", ") }
        write(value)
      }
      sql.append(")")
    case .unpadded:
      sql.append(" IN (SELECT value FROM ")
      sql.append(text: ValueListModule.name)
      sql.append("(?))")
      parameters.append(ValueList(values))
    case .padded(let size):
      sql.append(" IN (")
      for index in 0..<size {
        if index > 0 { sql.append(", ") }
        write(values[min(index, values.count - 1)])
      }
      sql.append(")")
    }
  }
}

/// Returns a JSON array; nil if SQLite might not read a value from JSON exactly: a BLOB, a REAL, or text with a NUL
/// byte.
private func jsonArray(of values: [DatabaseValue]) -> String? {
  elements(of: values).flatMap { try? JSON.array($0).text }
}

/// Returns row values as a JSON array of arrays; nil if SQLite might not read a value from JSON exactly.
private func jsonRows(of values: [DatabaseValue], width: Int) -> String? {
  guard let elements = elements(of: values) else { return nil }
  let rows = stride(from: 0, to: elements.count, by: width).map { JSON.array(Array(elements[$0..<($0 + width)])) }
  return try? JSON.array(rows).text
}

private func elements(of values: [DatabaseValue]) -> [JSON]? {
  var elements: [JSON] = []
  for value in values {
    switch value {
    case .integer(let integer): elements.append(.integer(integer))
    case .text(let text) where !text.utf8.contains(0): elements.append(.string(text))
    case .null: elements.append(.null)
    case .text, .real, .blob: return nil
    }
  }
  return elements
}

enum ListForm {
  /// One parameter for each value, padded with the last value, so that similar lengths share a statement.
  case padded(Int)
  /// All values in a single parameter, if `ParameterBuffer.lists` and the values allow this.
  case unpadded

  init(_ values: [DatabaseValue], isOrdering: Bool) {
    guard values.count <= 32, !(isOrdering && values.isEmpty) else {
      self = .unpadded
      return
    }
    var size = values.isEmpty ? 0 : 1
    while size < values.count { size *= 2 }
    self = .padded(size)
  }
}
