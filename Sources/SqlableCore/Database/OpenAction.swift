/// Code that runs on each connection when it has opened; see ``Configuration/onOpen(_:order:_:)``.
struct OpenAction: Sendable, Hashable {
  @ByteComparedName private var givenName: String?
  let order: Int
  private let code: Code

  private final class Code: Sendable {
    let body: @Sendable (SqliteDatabase) throws -> Void

    init(_ body: @escaping @Sendable (SqliteDatabase) throws -> Void) { self.body = body }
  }

  init(_ name: String, _ order: Int, _ body: @escaping @Sendable (SqliteDatabase) throws -> Void) {
    givenName = name
    self.order = order
    code = Code(body)
  }

  var name: String { givenName ?? "" }

  func callAsFunction(_ db: SqliteDatabase) throws { try code.body(db) }

  static func == (left: OpenAction, right: OpenAction) -> Bool {
    left._givenName == right._givenName && left.order == right.order && left.code === right.code
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(_givenName)
    hasher.combine(ObjectIdentifier(code))
  }
}

extension Configuration {
  /// Runs `body` on every connection when it has opened: the handle's, its children's, and all of a pool's.
  ///
  /// ```swift
  /// var configuration = Configuration()
  /// configuration.onOpen("memory map") { db in try db.execute("PRAGMA mmap_size = 268435456") }
  /// let pool = try SqlitePool(filepath: path, configuration: .init(handles: configuration))
  /// ```
  ///
  /// Use an action for pragmas and temporary objects that the configuration has no setting for. Actions run after all
  /// settings, extensions, attached files, functions and collations. Actions run in the order of `order`; actions of
  /// the same `order` run in the order in which they were added. An action replaces an earlier one of the same name. A
  /// pool's readers are read-only, as `db.configuration.isReadOnly` shows. The pool may open readers again at any time,
  /// such as after an error.
  ///
  /// An error of `body` is thrown by the call that opens the connection; a ``SqlError`` then has the action's name in
  /// its message. The call also throws `.misuse` if `body` leaves a transaction open. `body` must not wait for a call
  /// on the same pool. Configurations with actions are equal if their actions come from the same calls of this method.
  public mutating func onOpen(
    _ name: String, order: Int = 0, _ body: @escaping @Sendable (SqliteDatabase) throws -> Void
  ) {
    openActions.removeAll { $0.name.isExactly(name) }
    let index = openActions.firstIndex { $0.order > order } ?? openActions.endIndex
    openActions.insert(OpenAction(name, order, body), at: index)
  }
}

extension SqliteDatabase {
  /// Runs the actions of the configuration. Call once the handle is usable.
  func runOpenActions() throws {
    for action in configuration.openActions {
      do {
        try locked { try action(self) }
        guard connection?.isAutocommit != false else { throw misuse("the closure left a transaction open") }
      } catch var error as SqlError {
        error.message = "the onOpen action \(action.name): \(error.message)"
        throw error
      }
    }
  }
}
