import Dispatch

extension SqliteDatabase {
  /// Called for every changed row of every table after its transaction has been committed: table, id, change.
  ///
  /// ```swift
  /// db.didUpdate = { table, id, change in switch change { case .insert: … case .update: … case .delete: … } }
  /// ```
  ///
  /// Tables of attached databases, temporary ones and SQLite's own are left out, and so are the rows of `CREATE TABLE … AS`.
  /// The id is 0 for a WITHOUT ROWID table whose key is no single integer. Changes of this handle come on the thread that
  /// committed, those of its children on ``queue``. An error that it throws reaches ``didFail``.
  ///
  /// Once another one or nil is set, the earlier one is not called again, not even for the rest of a commit that is being
  /// delivered; a call that has begun on another thread is not waited for. The new one hears of later commits.
  public var didUpdate: (@Sendable (_ table: String, _ id: Int, _ change: Change) throws -> Void)? {
    get { registry.didUpdate }
    set { registry.didUpdate = newValue }
  }

  /// Called with errors that have no caller to be thrown to: those of observers, and those handed to ``fail(_:)``.
  public var didFail: (@Sendable (any Error) -> Void)? {
    get { registry.didFail }
    set { registry.didFail = newValue }
  }

  /// Hands an error to ``didFail``.
  public func fail(_ error: any Error) {
    registry.fail(error)
  }

  /// Where this handle's observers hear of its children's commits: a private serial queue unless another is set.
  ///
  /// Set a serial queue: on a concurrent one the order of commits is lost.
  public var queue: DispatchQueue {
    get { registry.queue }
    set { registry.queue = newValue }
  }

  /// Ends an observation. The observer is not called again, not even for the rest of a commit that is being delivered; a
  /// call that has begun on another thread is not waited for.
  public func removeObserver(_ token: ObserverToken) {
    registry.remove(token)
  }
}
