import Dispatch

extension SqliteDatabase {
  /// Called for each changed row of any table after its transaction was committed, with the table, the id and the
  /// change.
  ///
  /// ```swift
  /// db.didUpdate = { table, id, change in switch change { case .insert: … case .update: … case .delete: … } }
  /// ```
  ///
  /// Does not report tables of attached databases, temporary tables, SQLite's own tables, or the rows of
  /// `CREATE TABLE … AS`. The id is 0 for a WITHOUT ROWID table whose key is not a single integer. Changes of this
  /// handle are delivered on the thread that committed, those of its children on ``queue``. An error that the closure
  /// throws goes to ``didFail``.
  ///
  /// After another closure or nil is set, the old one is not called again, not even for the rest of a commit that is
  /// being delivered; a call already running on another thread is not waited for. The new closure receives later
  /// commits.
  public var didUpdate: (@Sendable (_ table: String, _ id: Int, _ change: Change) throws -> Void)? {
    get { registry.didUpdate }
    set { registry.didUpdate = newValue }
  }

  /// Called with errors that have no caller to be thrown to: those of observers, and those passed to ``fail(_:)``.
  public var didFail: (@Sendable (any Error) -> Void)? {
    get { registry.didFail }
    set { registry.didFail = newValue }
  }

  /// Passes an error to ``didFail``.
  public func fail(_ error: any Error) {
    registry.fail(error)
  }

  /// The queue on which this handle's observers receive its children's commits; by default a private serial queue.
  ///
  /// Set a serial queue: a concurrent one loses the order of commits.
  public var queue: DispatchQueue {
    get { registry.queue }
    set { registry.queue = newValue }
  }

  /// Ends an observation. The observer is not called again, not even for the rest of a commit that is being delivered;
  /// a call already running on another thread is not waited for.
  public func removeObserver(_ token: ObserverToken) {
    registry.remove(token)
  }
}
