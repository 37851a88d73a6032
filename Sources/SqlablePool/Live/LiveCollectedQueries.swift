// Live results of collected rows, scalar queries and decoded rows.

import SqlableCodable
import SqlableCore
import SqlableQueries

extension CollectedQuery where Source: Hashable, Output: Sendable {
  /// Returns a live result: the current collected rows, and new rows after every commit that could change the result.
  ///
  /// ```swift
  /// for try await bikes in Bicycle.read().grouped(by: \.color).updates(in: pool) { show(bikes) }
  /// ```
  ///
  /// The filter is not evaluated for changed rows. Throws the errors of running the query.
  public func updates(
    in database: some LocalDatabase, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<Output> {
    LiveQuery(database, LiveQuerySource(of: self, .init(file: file, line: line)))
  }
}

extension ScalarQuery {
  /// Returns a live result: the current value, and a new value after every commit that could change the value.
  public func updates(
    in database: some LocalDatabase, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<Value> {
    LiveQuery(database, LiveQuerySource(of: self, .init(file: file, line: line)))
  }
}

extension DecodedRows where Value: Sendable {
  /// Returns a live result: the current decoded rows, and new rows after every commit that could change the result.
  public func updates(
    in database: some LocalDatabase, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<[Value]> {
    LiveQuery(database, LiveQuerySource(of: self, .init(file: file, line: line)))
  }
}

extension Runnable {
  /// Returns the SQL of all statements of the query. Throws if the query writes.
  fileprivate func followedTexts() throws -> [String] {
    guard isReadOnly else { throw SqlError.invalidStatement("a statement that writes has no live result") }
    guard let work = self as? any StatementTrees else { return try requests().map(\.sql) }
    return try work.statements().map { try $0.withValues().sql }
  }
}

extension LiveQuerySource {
  init(of work: some Runnable<Value> & Hashable, _ callSite: CallSite) {
    self.init(
      key: .init(work, Value.self, onlyChanges: false), callSite: callSite, onlyChanges: false,
      texts: { try work.followedTexts() }, filtered: { nil }, rows: { db, _ in try work.run(db) })
  }
}
