extension LocalDatabase {
  /// Calls `body` with the id of each row of the model's table that a committed transaction changed.
  ///
  /// ```swift
  /// let token = db.observe(.update, on: Bicycle.self, id: 2) { id in … }
  /// db.removeObserver(token)
  /// ```
  ///
  /// - Parameters:
  ///   - model: The model whose rows to observe.
  ///   - change: The kind of change to observe; nil for all three.
  ///   - tableName: The table; nil for the model's table.
  ///   - id: The row's id, or the row's key if the key is not an integer; nil for all rows. An update that changes the
  ///     key notifies the observers of the old key and of the new key.
  ///   - body: A closure that receives the row's id after the change. The id is 0 in a WITHOUT ROWID table whose key is
  ///     not an integer; use the other overload to get the key. Errors that `body` throws go to `didFail`.
  ///
  /// Changes of this handle are delivered after the commit, in the order of change, on the thread that committed. If
  /// another thread is still delivering an earlier commit, that thread delivers these changes too. Changes of child
  /// handles, and all changes of a pool, are delivered on ``ObservedDatabase/queue``. Rolled-back changes are not
  /// reported.
  ///
  /// `body` can read, write, add observers and remove observers. Commits of `body` are delivered after the current
  /// commit. For a view or a full-text table, `didFail` receives `.misuse`.
  @discardableResult
  public func observe<Model: Sqlable>(
    _ change: Change? = nil, on model: Model.Type, in tableName: String? = nil, id: (any SqlValue)? = nil,
    _ body: @escaping @Sendable (_ id: Int) throws -> Void
  ) -> ObserverToken {
    observe(change, on: model, in: tableName, id: id) { (change: RowChange) in try body(change.id) }
  }

  /// Calls `body` with each changed row: the kind of change, and the row's id and key before and after the change.
  ///
  /// ```swift
  /// db.observe(on: Country.self) { (change: RowChange) in print(change.change, change.key) }
  /// ```
  @_disfavoredOverload
  @discardableResult
  public func observe<Model: Sqlable>(
    _ change: Change? = nil, on model: Model.Type, in tableName: String? = nil, id: (any SqlValue)? = nil,
    _ body: @escaping @Sendable (RowChange) throws -> Void
  ) -> ObserverToken {
    do {
      return registrations.registry.add(
        try ObserverRegistry.Observer(of: model, change, in: tableName, id: id, body))
    } catch {
      registrations.registry.fail(error)
      return registrations.registry.idleToken()
    }
  }
}

extension ObserverRegistry.Observer {
  /// Creates an observer of a model's rows. Throws for a model whose rows can't be observed.
  package init<Model: Sqlable>(
    of model: Model.Type, _ change: Change?, in tableName: String?, id: (any SqlValue)?,
    _ body: @escaping @Sendable (RowChange) throws -> Void
  ) throws {
    let table = try TableInfo.of(model, named: tableName ?? TableInfo.of(model).name)
    if table.fullText?.isExternal == false {
      throw SqlError.misuse("a full-text table can't be observed: SQLite does not report changes of its rows")
        .at(table: table.name)
    }
    if table.view != nil {
      throw SqlError.misuse("view \(table.name) can't be observed; observe the tables that the view reads")
        .at(table: table.name)
    }
    let key = try id.map { id in
      try table.key.count == 1 ? id.databaseValue(in: table.columns[table.key[0]].type) : id.databaseValue
    }
    self.init(token: ObserverRegistry.newToken(), table: table.name, change: change, key: key, body: body)
  }
}
