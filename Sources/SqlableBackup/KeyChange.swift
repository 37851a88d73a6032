import Glibc
import SqlableCore
import SqlablePool

/// A change of a file's key under open handles and pools: the encryption of a plain file, or a rekey.
struct KeyChange {
  enum Action: String {
    case encrypt = "encrypt the file"
    case rekey = "change the key"
  }

  let db: SqliteDatabase
  let action: Action
  let barrier: SqlitePool.FileCloseBarrier
  let end: ContinuousClock.Instant

  private var path: String { db.family.path }

  /// Throws if the handle is read-only, if writes are not allowed, or if the database file is missing or was replaced.
  func checkIsWritable() throws {
    guard !db.configuration.isReadOnly else {
      throw SqlError(.readOnly, message: "can't \(action.rawValue): the handle is read-only")
        .labelled(db.configuration.label)
    }
    try db.checkMayWrite()
    try db.locked { try db.checkFile(db.openConnection()) }
  }

  /// Calls `body` while the connections of all handles and pools of this process on the file are closed. After `body`,
  /// the handles that read the file with the old key use the new key.
  ///
  /// - Parameter check: A function that receives the families of these handles, before any handle waits.
  func run(_ key: EncryptionKey, check: ([HandleFamily]) throws -> Void = { _ in }, _ body: () throws -> Void) throws {
    try db.labelling {
      let families = try familiesOfFile()
      try check(families)
      // Wait before the handles are closed, so that calls continue while another process has the file open.
      db.waitForOtherProcesses(until: end) { barrier.hasToStop }
      try closing(families[...]) {
        let old = db.family.key ?? .unencrypted
        let readers = families.filter { $0.isConnected || ($0.key ?? .unencrypted) == old }
        try db.withDisconnected(families, to: action.rawValue, until: end) {
          if barrier.hasToStop { throw CancellationError() }
          try checkIsUsedOnly(by: families)
          try body()
          for family in readers { family.keyDidChange(to: key) }
        }
      }
    }
  }

  /// Returns the families of the program's handles and pools on the file, in the order of their creation.
  ///
  /// Waits until the library's own connections to the file are closed, such as the connection of a corruption check.
  /// Throws `.busy` if such a connection is still open at `end`, and if a handle of another file has attached this
  /// file.
  private func familiesOfFile() throws -> [HandleFamily] {
    let path = path
    for handle in HandleFamily.families.flatMap(\.members) where handle.isOpen && handle.family !== db.family {
      guard let name = handle.configuration.attached.first(where: { SqliteDatabase.isSameFile($0.value, path) })?.key
      else { continue }
      throw SqlError(
        .busy, message: "can't \(action.rawValue): handle \(handle.number) has attached the file as \(name)")
    }
    while true {
      let families = HandleFamily.families.filter { $0.isAt(path) && $0.members.contains(where: \.isOpen) }
      let users = families.filter { $0.isListed || $0.pool != nil }
      guard families.contains(where: { family in family.isConnected && !users.contains { $0 === family } }) else {
        return users
      }
      if barrier.hasToStop { throw CancellationError() }
      guard ContinuousClock.now < end else { throw isInUse }
      usleep(1_000)
    }
  }

  /// Throws `.busy` if a connection of this process outside these families has the file open.
  private func checkIsUsedOnly(by families: [HandleFamily]) throws {
    let path = path
    for other in HandleFamily.families where other.isConnected && !families.contains(where: { $0 === other }) {
      if other.isAt(path) { throw isInUse }
    }
  }

  private var isInUse: SqlError {
    SqlError(
      .busy,
      message: "can't \(action.rawValue): a backup, a check or another connection of this process has the file open")
  }

  /// Calls `body` while no call runs in the pools of these families, and no other call can close the file.
  ///
  /// Concurrent key changes close the families in the same order, the order of creation. Otherwise, two key changes
  /// could each wait for a family that the other has closed.
  private func closing(_ families: ArraySlice<HandleFamily>, _ body: () throws -> Void) throws {
    guard let family = families.first else { return try body() }
    if let pool = family.pool as? SqlitePool {
      guard pool.isOpen || family === db.family else {
        throw SqlError(.busy, message: "can't \(action.rawValue): another pool of this process is closing the file")
      }
      let other = SqlitePool.FileCloseBarrier(callSite: barrier.callSite, isCancelled: barrier.isCancelled)
      return try pool.closing(other, until: end) { try closing(families.dropFirst(), body) }
    }
    try family.begin(.init(callSite: "\(barrier.callSite)"), for: db, until: end)
    defer { family.endClosing() }
    try closing(families.dropFirst(), body)
  }
}

extension KeyChange {
  static func ofHandle(
    _ db: SqliteDatabase, _ action: Action, at callSite: CallSite, _ change: (KeyChange) throws -> Void
  ) throws {
    try db.checkFork()
    guard !db.belongsToPool else {
      throw db.misuse("can't \(action.rawValue) with a pool's handle; use \(action) of the pool")
    }
    guard db.transactionLevel == 0 else { throw db.misuse("can't \(action.rawValue) inside a transaction") }
    let end = ContinuousClock.now + .seconds(db.configuration.busyTimeout)
    try change(KeyChange(db: db, action: action, barrier: .init(callSite: callSite), end: end))
  }

  static func ofPool(
    _ pool: SqlitePool, _ action: Action, _ barrier: SqlitePool.FileCloseBarrier,
    _ change: (KeyChange) throws -> Void
  ) throws {
    try pool.checkFork()
    try pool.withState { try $0.checkIsOpen(pool.configuration.handles.label) }
    try pool.refuseInClosure(action.rawValue)
    let end = Deadline.after(.seconds(pool.configuration.handles.busyTimeout))
    try change(KeyChange(db: pool.root, action: action, barrier: barrier, end: end))
  }
}
