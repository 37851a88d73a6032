import CSqlableSQLite
import Synchronization

/// The functions, collations and tokenizers of a handle, its children and their children.
///
/// A connection may be touched only with its handle's lock held, so a handle applies what was registered on another
/// when it is next used.
package final class FunctionRegistry: Sendable {
  enum Entry: Sendable {
    case function(UserFunction)
    case collation(UserCollation)
    case tokenizer(UserTokenizer)
    /// True if statements are measured.
    case tracing(Bool)

    /// SQLite ignores the case of the letters A to Z in names.
    fileprivate var key: Key {
      switch self {
      case .function(let function): .function(function.name.foldedName, argumentCount: function.argumentCount)
      case .collation(let collation): .collation(collation.name.foldedName)
      case .tokenizer(let tokenizer): .tokenizer(tokenizer.name.foldedName)
      case .tracing: .tracing
      }
    }

    /// Returns SQLite's result code; `observation` is that of the connection's handle, if it has one.
    func register(on connection: Connection, _ observation: HandleObservation?) -> Int32 {
      switch self {
      case .function(let function): return connection.register(function)
      case .collation(let collation):
        let code = connection.register(collation)
        if code == SQLITE_OK { observation?.collationsDidChange() }
        return code
      case .tokenizer(let tokenizer): return connection.register(tokenizer)
      case .tracing(let isTraced):
        observation?.trace(isTraced)
        return SQLITE_OK
      }
    }
  }

  fileprivate enum Key: Hashable {
    case function([UInt8], argumentCount: Int)
    case collation([UInt8])
    case tokenizer([UInt8])
    case tracing
  }

  private let entries = LockedValue<[Key: (entry: Entry, version: Int)]>([:])
  private let latest = Atomic(0)
  /// Those who receive what the handles' statements took.
  let traces = TraceHub()

  private struct Weak: Sendable {
    weak var registry: FunctionRegistry?
  }

  /// All registries of the process.
  private static let all = LockedValue<[Weak]>([])

  init() {
    FunctionRegistry.all.withLock { all in
      all.removeAll { $0.registry == nil }
      all.append(Weak(registry: self))
    }
    if TraceHub.process.isActive { tracingDidChange() }
  }

  /// To be called when a trace of the handles, or of all handles, was added or removed.
  func tracingDidChange() {
    add(.tracing(traces.isActive || TraceHub.process.isActive))
  }

  /// To be called when a trace of all handles was added or removed.
  static func tracingDidChange() {
    for registry in all.withLock({ $0.compactMap(\.registry) }) { registry.tracingDidChange() }
  }

  /// Incremented by every registration.
  var version: Int { latest.load(ordering: .acquiring) }

  /// True if an entry of this kind and name is registered.
  func holds(_ entry: Entry) -> Bool { entries.withLock { $0[entry.key] != nil } }

  /// Adds an entry for all connections; returns its version.
  @discardableResult
  private func add(_ entry: Entry) -> Int {
    entries.withLock { entries in
      let version = latest.load(ordering: .relaxed) + 1
      entries[entry.key] = (entry, version)
      latest.store(version, ordering: .releasing)
      return version
    }
  }

  /// Adds what a connection has registered, for the other connections.
  func add(_ entry: Entry, registeredOn connection: Connection) {
    let version = add(entry)
    if connection.functionsVersion == version - 1 { connection.functionsVersion = version }
  }

  /// Registers what was registered on other connections meanwhile. A replacement that SQLite refuses because the handle
  /// is reading rows is retried at the next use.
  package func apply(to connection: Connection, _ observation: HandleObservation? = nil) throws {
    let (entries, version) = self.entries.withLock { entries in
      (entries.values.filter { $0.version > connection.functionsVersion }, latest.load(ordering: .relaxed))
    }
    var isComplete = true
    for (entry, _) in entries {
      let code = entry.register(on: connection, observation)
      guard code != SQLITE_OK else { continue }
      guard code == SQLITE_BUSY else { throw connection.error(code, sql: nil) }
      isComplete = false
    }
    if isComplete { connection.functionsVersion = version }
  }
}

extension LocalDatabase {
  /// Registers a function on this handle and its whole family: its children, existing and future, and its parent; or on
  /// all handles of this pool. It replaces one with the same name and number of arguments.
  ///
  /// ```swift
  /// try pool.register(ScalarFunction("distance") { (a: Double, b: Double) in abs(a - b) })
  /// ```
  ///
  /// A call of a pool that is running gets it with its next statement.
  ///
  /// Throws `.misuse` for a name that is empty, longer than 255 bytes or contains a NUL byte, for more than 100
  /// parameters, and if it would replace another while rows of this handle are being read.
  public func register<Output, each Argument>(_ function: ScalarFunction<Output, repeat each Argument>) throws {
    try registrations.root.register(.function(function.function), name: function.name)
  }

  /// Registers an aggregate on this handle and its whole family, like a ``ScalarFunction``.
  public func register<Output, each Argument>(_ function: AggregateFunction<Output, repeat each Argument>) throws {
    try registrations.root.register(.function(function.function), name: function.name)
  }

  /// Registers a collation on this handle and its whole family. It replaces one with the same name.
  ///
  /// Throws `.misuse` as for a function, and for the names of SQLite's own collations.
  public func register(_ collation: Collation) throws {
    guard ![Collate.binary, .nocase, .rtrim].contains(where: { $0.rawValue.isSameName(as: collation.name) }) else {
      throw registrations.root.misuse("SQLite's own collations can't be replaced")
    }
    try registrations.root.register(.collation(collation.collation), name: collation.name)
  }

  /// Registers a tokenizer for full-text tables on this handle and its whole family.
  ///
  /// Register it before using a table that needs it: every handle of the file needs it, in every process. Throws
  /// `.misuse` as for a function, for the names of FTS5's own tokenizers, for a name that is already registered (tables
  /// in use would keep the earlier one), and if this SQLite was built without FTS5.
  public func register(_ tokenizer: Tokenizer) throws {
    guard let custom = tokenizer.custom, !FullTextModule.tokenizers.contains(where: { $0.isSameName(as: custom.name) })
    else {
      throw registrations.root.misuse("FTS5's own tokenizers can't be replaced")
    }
    guard registrations.root.functions?.holds(.tokenizer(custom)) != true else {
      throw registrations.root.misuse("a tokenizer named \(custom.name) is already registered")
    }
    try registrations.root.register(.tokenizer(custom), name: custom.name)
  }
}

extension SqliteDatabase {
  fileprivate func register(_ entry: FunctionRegistry.Entry, name: String) throws {
    guard !name.isEmpty, !name.utf8.contains(0), name.utf8.count <= 255 else {
      throw misuse("the name of a function, collation or tokenizer must have 1 to 255 bytes and no NUL byte")
    }
    if case .function(let function) = entry, function.argumentCount > 100 {
      throw misuse("function \(name) has \(function.argumentCount) parameters; the limit is 100")
    }
    try locked {
      let connection = try openConnection()
      try checkIsNotInFunction(connection)
      switch entry.register(on: connection, observation) {
      case SQLITE_OK: functions?.add(entry, registeredOn: connection)
      case SQLITE_NOTFOUND: throw SqlError.withoutFullText.labelled(configuration.label)
      case SQLITE_BUSY: throw misuse("can't replace \(name) while rows of the handle are being read")
      case let code: throw connection.error(code, sql: nil)
      }
    }
  }

  /// Throws inside a user-defined function, which SQLite calls in the middle of a statement: a write there would change
  /// what the statement reads, and a transaction can't end while a statement runs.
  package func checkIsNotInFunction(_ connection: Connection) throws {
    guard !connection.userCode.isRunning else {
      throw misuse("a function can't write on the handle of the statement that calls the function")
    }
  }
}
