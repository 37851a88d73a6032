import CSqlableSQLite
import Synchronization

/// The functions, collations and tokenizers of a handle family.
///
/// A connection can be changed only with its handle's lock held. So each handle applies the registrations of other
/// handles at its next use.
package final class FunctionRegistry: Sendable {
  enum Entry: Sendable {
    case function(UserFunction)
    case collation(UserCollation)
    case tokenizer(UserTokenizer)
    /// A setting: true if statements are measured for traces.
    case tracing(Bool)

    /// The identity of an entry. A later entry with an equal key replaces the entry. SQLite ignores the case of A to Z
    /// in names.
    fileprivate var key: Key {
      switch self {
      case .function(let function): .function(function.name.foldedName, argumentCount: function.argumentCount)
      case .collation(let collation): .collation(collation.name.foldedName)
      case .tokenizer(let tokenizer): .tokenizer(tokenizer.name.foldedName)
      case .tracing: .tracing
      }
    }

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
  /// The source of the handles' tracers; nil before the family's first trace.
  private let source = LockedValue<(any TracerSource)?>(nil)
  package let traceFlag = TraceFlag()

  private struct Weak: Sendable {
    weak var registry: FunctionRegistry?
  }

  private static let all = LockedValue<[Weak]>([])
  /// The type of tracer source that a new family creates; nil unless the program traces all families.
  package static let newSource = LockedValue<(any TracerSource.Type)?>(nil)

  init() {
    FunctionRegistry.all.withLock { all in
      all.removeAll { $0.registry == nil }
      all.append(Weak(registry: self))
    }
    if let type = FunctionRegistry.newSource.withLock({ $0 }) {
      source.withLock { $0 = $0 ?? type.init() }
      setTraced(true)
    }
  }

  package static var families: [FunctionRegistry] { all.withLock { $0.compactMap(\.registry) } }

  package var tracerSource: (any TracerSource)? { source.withLock { $0 } }

  /// Returns the source of the handles' tracers. The first call creates the source.
  package func tracerSource<Source: TracerSource>(of type: Source.Type) -> Source {
    source.withLock { source in
      if let source = source as? Source { return source }
      let new = Source()
      source = new
      return new
    }
  }

  package func setTraced(_ isTraced: Bool) {
    traceFlag.set(isTraced)
    add(.tracing(isTraced))
  }

  var version: Int { latest.load(ordering: .acquiring) }

  func holds(_ entry: Entry) -> Bool { entries.withLock { $0[entry.key] != nil } }

  /// Adds an entry for all connections, and returns the version with this entry.
  @discardableResult
  private func add(_ entry: Entry) -> Int {
    entries.withLock { entries in
      let version = latest.load(ordering: .relaxed) + 1
      entries[entry.key] = (entry, version)
      latest.store(version, ordering: .releasing)
      return version
    }
  }

  func add(_ entry: Entry, registeredOn connection: Connection) {
    let version = add(entry)
    if connection.functionsVersion == version - 1 { connection.functionsVersion = version }
  }

  /// Registers the entries added since the last call. SQLite can't replace functions while the handle reads rows; then
  /// the next use of the handle retries.
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
  /// Registers a function on all handles of this pool, or on this handle and its whole family: its parent and all
  /// existing and future children. Replaces a function with the same name and number of arguments.
  ///
  /// ```swift
  /// try pool.register(ScalarFunction("distance") { (a: Double, b: Double) in abs(a - b) })
  /// ```
  ///
  /// A running call of a pool can use the function from its next statement on.
  ///
  /// Throws `.misuse` for a name that is empty, longer than 255 bytes or contains a NUL byte, and for more than 100
  /// parameters. Also throws `.misuse` if the call would replace a function while rows of this handle are being read.
  public func register<Output, each Argument>(_ function: ScalarFunction<Output, repeat each Argument>) throws {
    try registrations.root.register(.function(function.function), name: function.name)
  }

  /// Registers an aggregate on this handle and its whole family, like a ``ScalarFunction``.
  public func register<Output, each Argument>(_ function: AggregateFunction<Output, repeat each Argument>) throws {
    try registrations.root.register(.function(function.function), name: function.name)
  }

  /// Registers a collation on this handle and its whole family. Replaces a collation with the same name.
  ///
  /// Throws `.misuse` in the same cases as for a function, and for the names of SQLite's own collations.
  public func register(_ collation: Collation) throws {
    guard ![Collate.binary, .nocase, .rtrim].contains(where: { $0.rawValue.isSameName(as: collation.name) }) else {
      throw registrations.root.misuse("SQLite's own collations can't be replaced")
    }
    try registrations.root.register(.collation(collation.collation), name: collation.name)
  }

  /// Registers a tokenizer for full-text tables on this handle and its whole family.
  ///
  /// Register the tokenizer in every process that opens the file, before using a table with this tokenizer. Throws
  /// `.misuse` in the same cases as for a function, for the names of FTS5's own tokenizers, and if this SQLite was
  /// built without FTS5. Also throws `.misuse` for a name that is already registered, because tables in use would keep
  /// the earlier tokenizer.
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

  /// Throws inside a user-defined function, because SQLite calls the function while a statement runs. A write in the
  /// function would change the rows that the statement reads, and a transaction can't end while a statement runs.
  package func checkIsNotInFunction(_ connection: Connection) throws {
    guard !connection.userCode.isRunning else {
      throw misuse("a function, collation or tokenizer can't write on the handle that runs it")
    }
  }
}
