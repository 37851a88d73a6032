import Dispatch

extension SqliteDatabase {
  /// A closure that is called for each changed row of any table, after the transaction was committed.
  ///
  /// ```swift
  /// db.didUpdate = { table, id, change in switch change { case .insert: … case .update: … case .delete: … } }
  /// ```
  ///
  /// Does not report tables of attached databases, temporary tables, SQLite's own tables, or the rows of
  /// `CREATE TABLE … AS`. The id is 0 for a WITHOUT ROWID table whose key is not a single integer. The thread that
  /// commits calls the closure for changes of this handle. If another thread is still delivering an earlier commit,
  /// that thread calls the closure. Changes of children are delivered on ``ObservedDatabase/queue``. Errors of the
  /// closure go to ``ObservedDatabase/didFail``.
  ///
  /// After another closure or nil is set, the old closure is not called again, not even for the rest of a commit that
  /// is being delivered. Setting the property does not wait for a call that already runs on another thread. The new
  /// closure receives later commits.
  public var didUpdate: (@Sendable (_ table: String, _ id: Int, _ change: Change) throws -> Void)? {
    get { registry.didUpdate }
    set { registry.didUpdate = newValue }
  }

  /// Passes an error to ``ObservedDatabase/didFail``.
  public func fail(_ error: any Error) {
    registry.fail(error)
  }
}

/// The observers, traces and functions that the handles of a family or pool share.
public struct Registrations: Sendable {
  package let root: SqliteDatabase

  var registry: ObserverRegistry { root.registry }
  package var functions: FunctionRegistry? { root.lockedAnyway { root.functions } }
}

/// A database that has observers: a handle, a pool or a cluster.
///
/// ```swift
/// func report(_ database: some ObservedDatabase) { database.didFail = { error in print(error) } }
/// ```
public protocol ObservedDatabase: Sendable {
  /// The observers, traces and functions of the database. Only the library uses this property.
  var registrations: Registrations { get }
}

/// A database on this machine, which supports observers, traces and user-defined functions: a handle or a pool.
public protocol LocalDatabase: ObservedDatabase {}

extension SqliteDatabase: LocalDatabase {
  public var registrations: Registrations { Registrations(root: self) }
}

extension ObservedDatabase {
  /// A closure that receives errors that no call can throw: errors of observers, and errors passed to `fail(_:)`. On a
  /// pool, the closure also receives errors of loops over changes, and reports of long reads.
  public var didFail: (@Sendable (any Error) -> Void)? {
    get { registrations.registry.didFail }
    nonmutating set { registrations.registry.didFail = newValue }
  }

  /// The queue on which observers are called. A handle uses the queue only for the commits of its children; a pool or
  /// cluster always uses the queue. Default: a private serial queue.
  ///
  /// Set a serial queue, because a concurrent queue would not preserve the order of commits.
  public var queue: DispatchQueue {
    get { registrations.registry.queue }
    nonmutating set { registrations.registry.queue = newValue }
  }

  /// Ends an observation. The observer is not called again, not even for the rest of a commit that is being delivered.
  /// Does not wait for a call that already runs on another thread.
  public func removeObserver(_ token: ObserverToken) {
    registrations.registry.remove(token)
  }
}
