import CSqlableSQLite
import Synchronization

/// The functions, collations and tokenizers of a handle, its children and their children.
///
/// A connection may be touched with its handle's lock held only, so a handle takes what was registered on another when
/// it is used the next time.
final class FunctionRegistry: Sendable {
  enum Entry: Sendable {
    case function(UserFunction)
    case collation(UserCollation)
    case tokenizer(UserTokenizer)

    /// SQLite compares names without regard to the case of the letters A to Z.
    fileprivate var key: Key {
      switch self {
      case .function(let function): .function(function.name.foldedName, argumentCount: function.argumentCount)
      case .collation(let collation): .collation(collation.name.foldedName)
      case .tokenizer(let tokenizer): .tokenizer(tokenizer.name.foldedName)
      }
    }

    /// Gives SQLite's code; `observation` is that of the connection's handle, where it has one.
    func register(on connection: Connection, _ observation: HandleObservation?) -> Int32 {
      switch self {
      case .function(let function): return connection.register(function)
      case .collation(let collation):
        let code = connection.register(collation)
        if code == SQLITE_OK { observation?.collationsDidChange() }
        return code
      case .tokenizer(let tokenizer): return connection.register(tokenizer)
      }
    }
  }

  fileprivate enum Key: Hashable {
    case function([UInt8], argumentCount: Int)
    case collation([UInt8])
    case tokenizer([UInt8])
  }

  private let entries = Guarded<[Key: (entry: Entry, version: Int)]>([:])
  private let latest = Atomic(0)

  /// Raised by every registration.
  var version: Int { latest.load(ordering: .acquiring) }

  /// Whether there is one of that kind and name.
  func holds(_ entry: Entry) -> Bool { entries.withLock { $0[entry.key] != nil } }

  /// Takes note of what a connection has registered, for the others.
  func add(_ entry: Entry, registeredOn connection: Connection) {
    let version = entries.withLock { entries in
      let version = latest.load(ordering: .relaxed) + 1
      entries[entry.key] = (entry, version)
      latest.store(version, ordering: .releasing)
      return version
    }
    if connection.functionsVersion == version - 1 { connection.functionsVersion = version }
  }

  /// Registers what others have registered meanwhile. What can't be replaced, because the handle reads rows, is left
  /// for the next time.
  func apply(to connection: Connection, _ observation: HandleObservation? = nil) throws {
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

extension SqliteDatabase {
  /// Makes a function known to this handle and to all that belong to it: its children, made before or later, and its
  /// parent. It takes the place of one with the same name and number of arguments.
  ///
  /// Throws `.misuse` for a name that is empty, longer than 255 bytes or has a NUL byte, for more than 100 parameters,
  /// and when it would replace another while rows of this handle are being read.
  public func register<Output, each Argument>(_ function: ScalarFunction<Output, repeat each Argument>) throws {
    try register(.function(function.function), name: function.name)
  }

  /// Makes an aggregate known to this handle and to all that belong to it, as with a ``ScalarFunction``.
  public func register<Output, each Argument>(_ function: AggregateFunction<Output, repeat each Argument>) throws {
    try register(.function(function.function), name: function.name)
  }

  /// Makes a collation known to this handle and to all that belong to it. It takes the place of one with the same name.
  ///
  /// Throws `.misuse` as for a function, and for the names of SQLite's own collations.
  public func register(_ collation: Collation) throws {
    guard ![Collate.binary, .nocase, .rtrim].contains(where: { $0.rawValue.isSameName(as: collation.name) }) else {
      throw misuse("SQLite's own collations can't be replaced")
    }
    try register(.collation(collation.collation), name: collation.name)
  }

  /// Makes a tokenizer for full-text tables known to this handle and to all that belong to it.
  ///
  /// Register it before a table that uses it is touched: each handle of a file needs it, in whatever process. Throws
  /// `.misuse` as for a function, for the names of FTS5's own tokenizers, for a name that is registered already (tables
  /// that are in use would keep the earlier one), and when this SQLite was built without FTS5.
  public func register(_ tokenizer: Tokenizer) throws {
    guard let own = tokenizer.own, !FullTextModule.tokenizers.contains(where: { $0.isSameName(as: own.name) }) else {
      throw misuse("FTS5's own tokenizers are there already, and can't be replaced")
    }
    guard functions?.holds(.tokenizer(own)) != true else {
      throw misuse("a tokenizer of the name \(own.name) is registered already")
    }
    try register(.tokenizer(own), name: own.name)
  }

  private func register(_ entry: FunctionRegistry.Entry, name: String) throws {
    guard !name.isEmpty, !name.utf8.contains(0), name.utf8.count <= 255 else {
      throw misuse("the name of a function, collation or tokenizer must have 1 to 255 bytes and no NUL byte")
    }
    if case .function(let function) = entry, function.argumentCount > 100 {
      throw misuse("function \(name) has \(function.argumentCount) parameters; SQLite takes up to 100")
    }
    try locked {
      let connection = try openConnection()
      try checkIsNotInFunction(connection)
      switch entry.register(on: connection, observation) {
      case SQLITE_OK: functions?.add(entry, registeredOn: connection)
      case SQLITE_NOTFOUND: throw SqlError.withoutFullText.labelled(configuration.label)
      case SQLITE_BUSY: throw misuse("\(name) can't be replaced while rows of the handle are being read")
      case let code: throw connection.error(code, sql: nil)
      }
    }
  }

  /// Throws inside a function of the program's own, which SQLite calls in the middle of a statement: a write there
  /// would change what the statement reads, and a transaction can't end while one runs.
  func checkIsNotInFunction(_ connection: Connection) throws {
    guard !connection.userCode.isRunning else {
      throw misuse("a function that a statement calls can read on the handle, but not change anything")
    }
  }
}
