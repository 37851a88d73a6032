/// Code that runs on each newly opened connection; see ``Configuration/onOpen(_:order:_:)``.
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
  /// Runs `body` on every newly opened connection: of the handle, of its children, and of a pool.
  ///
  /// ```swift
  /// var configuration = Configuration()
  /// configuration.onOpen("memory map") { db in try db.execute("PRAGMA mmap_size = 268435456") }
  /// let pool = try SqlitePool(filepath: path, configuration: .init(handles: configuration))
  /// ```
  ///
  /// Use an action for temporary objects, and for pragmas that are not settings of the configuration. Actions run after
  /// all settings, extensions, attached files, functions and collations. Actions run in the order of `order`; actions
  /// of the same `order` run in the order in which they were added. An action replaces an earlier action of the same
  /// name. On a pool's reader, `db.configuration.isReadOnly` is true. The pool can reopen a reader at any time, for
  /// example after an error.
  ///
  /// The call that opens the connection throws the errors of `body`. The action's name is added to the message of a
  /// ``SqlError``. The call also throws `.misuse` if `body` leaves a transaction open. `body` must not wait for a call
  /// on the same pool. Two configurations with actions are equal only if their actions were added by the same calls of
  /// this method.
  public mutating func onOpen(
    _ name: String, order: Int = 0, _ body: @escaping @Sendable (SqliteDatabase) throws -> Void
  ) {
    openActions.removeAll { $0.name.isExactly(name) }
    let index = openActions.firstIndex { $0.order > order } ?? openActions.endIndex
    openActions.insert(OpenAction(name, order, body), at: index)
  }
}

extension SqliteDatabase {
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
