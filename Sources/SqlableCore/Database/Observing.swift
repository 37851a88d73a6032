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
  /// handle are delivered on the thread that committed, those of its children on
  /// ``ObservedDatabase/queue``. An error that the closure throws goes to ``ObservedDatabase/didFail``.
  ///
  /// After another closure or nil is set, the old one is not called again, not even for the rest of a commit that is
  /// being delivered; a call already running on another thread is not waited for. The new closure receives later
  /// commits.
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
  let root: SqliteDatabase

  var registry: ObserverRegistry { root.registry }
  var functions: FunctionRegistry? { root.lockedAnyway { root.functions } }
}

/// A database that has observers: a handle, a pool or a cluster.
///
/// ```swift
/// func report(_ database: some ObservedDatabase) { database.didFail = { error in print(error) } }
/// ```
public protocol ObservedDatabase: Sendable {
  /// The observers, traces and functions of the database. Only the library uses them.
  var registrations: Registrations { get }
}

/// A database on this machine whose changes are observed, whose statements are traced and which takes functions: a
/// handle or a pool.
public protocol LocalDatabase: ObservedDatabase {}

extension SqliteDatabase: LocalDatabase {
  public var registrations: Registrations { Registrations(root: self) }
}

extension ObservedDatabase {
  /// Called with errors that have no caller to be thrown to: those of observers, and those passed to `fail(_:)`; on a
  /// pool also those of loops over changes, and long reads.
  public var didFail: (@Sendable (any Error) -> Void)? {
    get { registrations.registry.didFail }
    nonmutating set { registrations.registry.didFail = newValue }
  }

  /// The queue on which observers are called: those of a handle for its children's commits, those of a pool or cluster
  /// always; by default a private serial queue.
  ///
  /// Set a serial queue: a concurrent one loses the order of commits.
  public var queue: DispatchQueue {
    get { registrations.registry.queue }
    nonmutating set { registrations.registry.queue = newValue }
  }

  /// Ends an observation. The observer is not called again, not even for the rest of a commit that is being delivered;
  /// a call already running on another thread is not waited for.
  public func removeObserver(_ token: ObserverToken) {
    registrations.registry.remove(token)
  }
}
