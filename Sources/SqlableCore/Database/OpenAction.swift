/// Code that runs on each connection when it has opened; see ``Configuration/onOpen(_:order:_:)``.
struct OpenAction: Sendable, Hashable {
  @ByBytes private var givenName: String?
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
  /// For pragmas and temporary objects that the configuration has no setting for. It comes after all settings,
  /// extensions, attached files, functions and collations. Actions run in the order of `order`, those of the same order
  /// as they were added; an action replaces an earlier one of the same name. A pool's readers are read-only, which
  /// `db.configuration.isReadOnly` says, and opened again at any time, such as after an error.
  ///
  /// What it throws is thrown by what opens the connection, with its name in the message of a ``SqlError``; so is
  /// `.misuse` if it leaves a transaction open. It must not wait for a call on the same pool. Configurations with
  /// actions are equal if they have the same closures, added once.
  public mutating func onOpen(
    _ name: String, order: Int = 0, _ body: @escaping @Sendable (SqliteDatabase) throws -> Void
  ) {
    openActions.removeAll { $0.name.isExactly(name) }
    let place = openActions.firstIndex { $0.order > order } ?? openActions.endIndex
    openActions.insert(OpenAction(name, order, body), at: place)
  }
}

extension SqliteDatabase {
  /// Runs the actions of the configuration; to be called once the handle is usable.
  func runOpenActions() throws {
    for action in configuration.openActions {
      do {
        try locked { try action(self) }
        guard connection?.isAutocommit != false else { throw misuse("it left a transaction open") }
      } catch var error as SqlError {
        error.message = "the action \(action.name), which runs when a connection opens: \(error.message)"
        throw error
      }
    }
  }
}
