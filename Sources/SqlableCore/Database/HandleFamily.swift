import Glibc
import Synchronization

/// All handles that descend from the same first handle, with the file's path, key and damage mark.
package final class HandleFamily: Sendable {
  private struct Member: Sendable {
    weak var handle: SqliteDatabase?
  }

  /// A call that closes the file, or that blocks the database for all threads.
  package struct Closing: Sendable {
    let callSite: String
    /// The thread that must not use the closed file; nil if the database is blocked, not closed.
    let thread: pthread_t?
    let begin = ContinuousClock.now

    package init(callSite: String, isBlock: Bool = false) {
      (self.callSite, thread) = (callSite, isBlock ? nil : pthread_self())
    }

    var error: SqlError {
      let action = thread == nil ? "blocked the database" : "kept the file closed"
      return SqlError(
        .busy, message: "the call at \(callSite) has \(action) for \(begin.duration(to: .now).seconds) s")
    }
  }

  private struct State: Sendable {
    var members: [Member] = []
    /// The number of members at which deallocated members are removed from the list.
    var limit = 16
    var closing: Closing?
    /// The call of `block` that keeps the other handles from using the database, and the number of its handle; nil
    /// without such a call.
    var block: (closing: Closing, holder: Int)?
    /// True for a family that the program opened; false for a family that the library opened for a pool, a backup or a
    /// check.
    var isListed = false
    weak var pool: (any AnyObject & Sendable)?
    /// The path of the file; nil until the first use of the path or the first connection.
    var path: String?
    var key: EncryptionKey?
  }

  private struct Weak: Sendable {
    weak var family: HandleFamily?
  }

  package let corruption = CorruptionMark()
  private let location: Location
  private let state: LockedValue<State>
  private let connections = Atomic(0)
  private static let all = LockedValue<[Weak]>([])

  /// - Parameter opensLazily: True if the file is opened later. Then the path is resolved now, because the working
  ///   directory might change.
  init(_ location: Location, _ key: EncryptionKey?, opensLazily: Bool) {
    self.location = location
    state = LockedValue(State(path: opensLazily ? location.absolutePath : nil, key: key))
    HandleFamily.all.withLock { all in
      all.removeAll { $0.family == nil }
      all.append(Weak(family: self))
    }
  }

  /// The path of the file, as resolved by SQLite when the file was first opened; empty for a database in memory.
  package var path: String {
    state.withLock { state in
      let path = state.path ?? location.absolutePath
      state.path = path
      return path
    }
  }

  /// The current key of the file; nil without a key. After a rekey, a handle's configuration can still have the old
  /// key.
  package var key: EncryptionKey? { state.withLock { $0.key } }

  /// Returns the configuration with the current key of the main file. The keys of attached files do not change.
  func withKey(_ configuration: Configuration) -> Configuration {
    let key = key
    guard key != configuration.key else { return configuration }
    var new = configuration
    for name in configuration.attached.keys where new.attachedKeys[name] == nil {
      new.attachedKeys[name] = configuration.key ?? .unencrypted
    }
    new.key = key
    return new
  }

  /// Records a new key of the file. Call with all members closed.
  package func keyDidChange(to key: EncryptionKey) { state.withLock { $0.key = key } }

  func add(_ handle: SqliteDatabase) {
    state.withLock { state in
      if state.members.count >= state.limit {
        state.members.removeAll { $0.handle == nil }
        state.limit = 2 * state.members.count + 16
      }
      state.members.append(Member(handle: handle))
    }
  }

  /// Counts a new connection of a member. The first connection also sets the path that SQLite resolved.
  func didOpen(_ connection: Connection) {
    guard connections.add(1, ordering: .relaxed).oldValue == 0 else { return }
    let path = connection.absolutePath
    guard !path.isEmpty else { return }
    state.withLock { $0.path = path }
    adoptDamage()
  }

  func didClose() { connections.subtract(1, ordering: .relaxed) }

  package var isConnected: Bool { connections.load(ordering: .relaxed) > 0 }

  package var members: [SqliteDatabase] { state.withLock { $0.members.compactMap(\.handle) } }

  var isOpenElsewhere: Bool {
    guard let file = FileIdentity(path) else { return false }
    return HandleFamily.families.contains { $0 !== self && $0.isConnected && FileIdentity($0.path) == file }
  }

  /// All families of this process, in the order of their creation.
  package static var families: [HandleFamily] { all.withLock { $0.compactMap(\.family) } }

  static var allHandles: [SqliteDatabase] { families.flatMap(\.members) }

  package var isListed: Bool { state.withLock { $0.isListed } }

  package var pool: (any AnyObject & Sendable)? { state.withLock { $0.pool } }

  package func list(of pool: (any AnyObject & Sendable)? = nil) {
    state.withLock { state in (state.isListed, state.pool) = (pool == nil, pool) }
    // Share the damage that an `onOpen` action might have found before this call.
    shareDamage()
    adoptDamage()
  }

  // MARK: Closing the file

  /// True if this thread is inside a closure that runs while the file is closed, such as the closure of `withClosed`.
  var isClosedHere: Bool { state.withLock { $0.closing?.thread == pthread_self() } }

  /// Waits until earlier calls that close the file, and blocks of other handles, have ended. Then registers this call.
  /// Throws `.busy` at `end`, and `.misuse` inside a call that has closed the file.
  package func begin(_ closing: Closing, for handle: SqliteDatabase, until end: ContinuousClock.Instant) throws {
    while true {
      let other = state.withLock { state -> Closing? in
        if let block = state.block, block.holder != handle.number { return block.closing }
        defer { state.closing = state.closing ?? closing }
        return state.closing
      }
      guard let other else { return }
      guard other.thread == nil || other.thread != pthread_self() else {
        throw SqlError.misuse("the file is already closed by the call at \(other.callSite)")
      }
      guard ContinuousClock.now < end else { throw other.error }
      usleep(1_000)
    }
  }

  package func endClosing() { state.withLock { $0.closing = nil } }

  // MARK: Blocking the database

  /// Returns the block that the calls of `handle` wait for; nil if there is no block, or if `handle` holds the block.
  func block(of handle: SqliteDatabase) -> Closing? {
    state.withLock { state in state.block.flatMap { $0.holder == handle.number ? nil : $0.closing } }
  }

  /// Makes the calls of all members but `holder` wait. Call with the locks of all members held.
  func beginBlock(_ block: Closing, by holder: SqliteDatabase) {
    state.withLock { $0.block = (block, holder.number) }
    for handle in members where handle !== holder { handle.connection?.isSuspended = true }
  }

  func endBlock() { state.withLock { $0.block = nil } }

  func isBlocked(by handle: SqliteDatabase) -> Bool { state.withLock { $0.block?.holder == handle.number } }

  /// The longest time for which `lockAll` holds the locks of other handles while it waits for one handle.
  private static let patience = Duration.milliseconds(100)

  func lockAll(
    for caller: SqliteDatabase, to action: String = "close the file", until end: ContinuousClock.Instant
  ) throws -> [SqliteDatabase] {
    try HandleFamily.lockAll(of: [self], for: caller, to: action, until: end)
  }

  /// Takes the locks of all members of the families, once no statement runs and no transaction is open. The caller
  /// releases the locks.
  ///
  /// A thread that runs a statement might wait for another handle, whose lock this call already holds. To avoid a
  /// deadlock, this call releases all locks if a handle is in use for longer than `patience`. The next attempt takes
  /// that handle's lock first.
  static func lockAll(
    of families: [HandleFamily], for caller: SqliteDatabase, to action: String, until end: ContinuousClock.Instant
  ) throws -> [SqliteDatabase] {
    var first: SqliteDatabase?
    var held: [SqliteDatabase] = []
    var isDone = false
    defer { if !isDone { for handle in held { handle.lock.unlock() } } }
    while true {
      // List the members again in each round: another thread might have created a child while it held its parent's
      // lock.
      var unlocked = families.flatMap(\.members).filter { handle in !held.contains { $0 === handle } }
      if held.isEmpty, let index = unlocked.firstIndex(where: { $0 === first }) { unlocked.swapAt(0, index) }
      guard !unlocked.isEmpty else {
        isDone = true
        return held
      }
      for handle in unlocked {
        let patience = held.isEmpty ? end : min(end, .now + HandleFamily.patience)
        if let use = try handle.waitToClose(for: caller, action, until: patience) {
          for handle in held { handle.lock.unlock() }
          (held, first) = ([], handle)
          guard ContinuousClock.now < end else {
            throw SqlError(
              .busy, message: "can't \(action): \(use)", label: handle.configuration.label)
          }
          break
        }
        held.append(handle)
      }
    }
  }
}
