import SqlableCore

/// The ownership of a consumer, as the consumer's row stores it.
///
/// A state machine without a clock and SQL, so tests can run every order of the loops' steps. Each transition runs in a
/// writing transaction, which reads the row before the transition and stores it afterwards.
package struct ConsumerOwnership: Hashable, Sendable {
  /// The loop that owns the consumer; nil if no loop does.
  package private(set) var owner: String?
  /// The time in milliseconds since 1970 at which the owner loses its lease; nil if no other loop has claimed the
  /// lease.
  package private(set) var claimed: Int?

  package init(owner: String? = nil, claimed: Int? = nil) { (self.owner, self.claimed) = (owner, claimed) }

  package enum Attempt: Equatable {
    case acquired
    /// Another loop owns the consumer. Try again after this many milliseconds, or when the consumer has no owner.
    /// `claim` is the value of `claimed` that this attempt has stored; nil if this attempt has stored no claim.
    case wait(Int, claim: Int?)
  }

  /// Makes a loop the owner, or claims the lease of the owner.
  ///
  /// - Parameters:
  ///   - length: The time in milliseconds within which the owner must answer a claim.
  ///   - unanswered: The claim that this loop stored before its last wait. This claim counts as expired even if the
  ///     clock was set back during the wait.
  package mutating func acquire(by loop: String, at now: Int, length: Int, unanswered: Int? = nil) -> Attempt {
    let hasEnded = claimed.map { $0 <= now || $0 == unanswered } ?? false
    guard owner != nil, owner != loop, !hasEnded else {
      (owner, claimed) = (loop, nil)
      return .acquired
    }
    let end = now + length
    // Keep an existing claim, unless the claim ends later than a new claim would. When such a claim was stored, the
    // clock was ahead.
    if let claimed, claimed <= end { return .wait(claimed - now, claim: nil) }
    claimed = end
    return .wait(length, claim: end)
  }

  /// True if a loop owns the consumer and must answer a claim.
  package func mustAnswer(_ loop: String) -> Bool { owner == loop && claimed != nil }

  /// Removes the claim of another loop, if this loop still owns the consumer.
  package mutating func answer(by loop: String) {
    if owner == loop { claimed = nil }
  }

  package mutating func release(by loop: String) {
    if owner == loop { (owner, claimed) = (nil, nil) }
  }

  /// True if a loop may store a position. A loop without a lease passes nil.
  package func isOwned(by loop: String?) -> Bool { owner == loop }
}

extension ConsumerOwnership {
  /// Changes the ownership of a consumer in a writing transaction. Stores nothing if the consumer is unknown, or if the
  /// ownership stays the same.
  static func change(_ name: String, in db: SqliteDatabase, _ body: (inout ConsumerOwnership) -> Void) throws {
    guard let record = try ConsumerRecord(named: name, in: db) else { return }
    var ownership = record.ownership
    body(&ownership)
    guard ownership != record.ownership else { return }
    try ownership.store(name, in: db)
  }

  func store(_ name: String, in db: SqliteDatabase) throws {
    try db.execute(
      """
      UPDATE main."sqlable_change_consumers" SET "owner" = \(owner), "claimed" = \(claimed) WHERE "name" = \(name)
      """)
  }
}
