import SqlableCore
import SqlableDocuments
import SqlablePool

extension AnyStatement {
  /// Returns a live result: the statement's result now, and again after every commit that could change the result.
  ///
  /// ```swift
  /// let search = try policy.statement(json: body)
  /// for try await result in search.updates(in: pool, onlyChanges: true) { try send(result) }
  /// ```
  ///
  /// If the statement reads whole rows of one model, counts them or tests whether they exist, the live result tests the
  /// rows of each commit against the statement's filter. If no changed row matches, the statement does not run again.
  ///
  /// Without `onlyChanges`, a client can receive an equal result again after a commit. From such a result, the client
  /// can infer that the commit changed only rows that the policy hides.
  ///
  /// The live result throws `.invalidStatement` for a statement that writes.
  public func updates(
    in database: some LocalDatabase, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<Output> {
    let tree = decoded.tree
    let source = LiveQuerySource<Output>(
      key: .init(self, Output.self, onlyChanges: onlyChanges), callSite: .init(file: file, line: line),
      onlyChanges: onlyChanges, texts: { [try tree.followed.withValues().sql] },
      filtered: {
        let query = try tree.followed
        return query.readsWholeRows ? query : nil
      },
      rows: { db, notes in
        let query = try tree.followed
        if query.form == .rows {
          let reading = try db.beginReading(query)
          defer { db.endReading(reading.rows) }
          var rows: [DynamicRow] = []
          while let row = try reading.next({ try DynamicRow.next(of: &$0) }) {
            notes.add(reading.rows.statement)
            rows.append(row)
          }
          return .rows(rows)
        }
        let reading = try db.beginReading(modelsOf: query)
        defer { db.endReading(reading) }
        let isFound = try reading.step()
        if isFound { notes.add(reading.statement) }
        let number = isFound ? Int(reading.statement.integer(at: 0)) : 0
        return query.form == .exists ? .exists(number != 0) : .number(number)
      })
    return LiveQuery(database, source)
  }
}
