import SqlableCore

package final class SQLTextCache<Value: Sendable>: Sendable {
  private static var maximumCount: Int { 1_000 }

  private let values = LockedValue<[String: Value]>([:])
  private let make: @Sendable (String) -> Value

  package init(_ make: @escaping @Sendable (String) -> Value) { self.make = make }

  package func value(of sql: String) -> Value {
    if let known = values.withLock({ $0[sql] }) { return known }
    let value = make(sql)
    // Long texts are not cached, because a cache full of long texts would occupy megabytes.
    guard sql.utf8.count <= StatementShape.maximumLength else { return value }
    values.withLock { values in
      if values.count >= SQLTextCache.maximumCount { values = [:] }
      values[sql] = value
    }
    return value
  }
}

extension StatementShape {
  package static let cache = SQLTextCache { StatementShape(of: $0) }
}

extension ParameterColumns {
  static let cache = SQLTextCache { ParameterColumns(of: $0) }
}
