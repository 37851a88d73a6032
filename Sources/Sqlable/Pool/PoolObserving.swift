import Dispatch

extension SqlitePool {
  /// Calls `body` with the id of each row of the model's table that a transaction of this pool changes: after the
  /// commit, on ``queue``. See `SqliteDatabase.observe`.
  ///
  /// ```swift
  /// let token = pool.observe(.update, on: Bicycle.self, id: 2) { id in … }
  /// ```
  @discardableResult
  public func observe<Model: Sqlable>(
    _ change: Change? = nil, on model: Model.Type, in tableName: String? = nil, id: (any SqlValue)? = nil,
    _ body: @escaping @Sendable (_ id: Int) throws -> Void
  ) -> ObserverToken { root.observe(change, on: model, in: tableName, id: id, body) }

  /// Calls `body` with each changed row: its change, its id and key, and their values before the change.
  @_disfavoredOverload
  @discardableResult
  public func observe<Model: Sqlable>(
    _ change: Change? = nil, on model: Model.Type, in tableName: String? = nil, id: (any SqlValue)? = nil,
    _ body: @escaping @Sendable (RowChange) throws -> Void
  ) -> ObserverToken { root.observe(change, on: model, in: tableName, id: id, body) }

  /// Ends an observation; see `SqliteDatabase.removeObserver(_:)`.
  public func removeObserver(_ token: ObserverToken) { root.removeObserver(token) }

  /// Called with errors that no caller can catch: those of observers and of loops over changes, and long reads.
  public var didFail: (@Sendable (any Error) -> Void)? {
    get { root.didFail }
    set { root.didFail = newValue }
  }

  /// The queue on which observers are called; a private serial queue unless another is set.
  public var queue: DispatchQueue {
    get { root.queue }
    set { root.queue = newValue }
  }
}
