import SqlableCore

/// The steps of a consumer. The consumer's closure runs in the transaction that stores the position.
package struct ConsumerSteps<Element: Sendable>: Sendable {
  package let name: String
  package let followed: FollowedChanges<Element>
  let start: ConsumerStart

  package init(name: String, followed: FollowedChanges<Element>, start: ConsumerStart) {
    (self.name, self.followed, self.start) = (name, followed, start)
  }

  package enum Work: Sendable {
    /// The database does not know the consumer. A separate transaction stores the consumer first, so that the consumer
    /// and its error are visible if the first change fails.
    case register
    /// A loop over batches owns the consumer. The loop might have been killed.
    case owned
    /// The consumer is new, and needs the rows of the followed tables.
    case rows(from: ChangePosition)
    /// The consumer has this position. The caller reads a page of the query, and has nothing to do if
    /// ``isDue(_:after:)`` is false for the page.
    case changes(from: ChangePosition)
  }

  /// Returns the next work, and the query of the changes after the consumer's position.
  package func nextWork(_ db: SqliteDatabase) throws -> (value: Work, query: LogQuery<Element>?) {
    guard let record = try ConsumerRecord(named: name, in: db) else { return (.register, nil) }
    try record.check(follows: followed.table, in: db)
    guard record.ownership.isOwned(by: nil) else { return (.owned, nil) }
    guard !record.isNew else { return (.rows(from: record.position), nil) }
    return (.changes(from: record.position), try followed.source.query(after: record.position, .consumer, in: db))
  }

  /// True if the consumer's position must move, because the page has changes of the table, or because many other
  /// changes follow the position.
  package func isDue(_ page: LogPage<Element>, after position: ChangePosition) -> Bool {
    !page.items.isEmpty || page.end.number - position.number >= ConsumerRecord.longestGap
  }

  package func register(_ db: SqliteDatabase) throws {
    _ = try ConsumerRecord.known(name, of: followed.table, startingAt: start, in: db)
    // If the consumer can't read the log, the error rolls back the transaction, so the consumer is not stored.
    try followed.source.checkTables(in: db)
  }

  /// Stores the consumer's new position. The position must have been read in the same transaction.
  package func move(from start: ChangePosition, to end: ChangePosition, in db: SqliteDatabase) throws {
    try ConsumerRecord.move(name, from: start, to: end, .transaction, owner: nil, in: db)
  }

  /// Returns a lease of ten seconds. A call uses this lease to take the consumer from an owner whose process was
  /// killed.
  package func lease(_ database: any ConsumerDatabase, at callSite: CallSite) -> ConsumerLease {
    ConsumerLease(database, name, of: followed, start, .seconds(10), callSite)
  }
}
