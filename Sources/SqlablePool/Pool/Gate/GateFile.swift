import Glibc
import SqlableCore
import Synchronization

/// A file beside a database. Pools of several processes lock bytes of this file to take turns. The file is empty unless
/// a pool that holds its turn for a long time publishes a record.
///
/// The locks are open file description locks (`F_OFD_SETLK`). These locks work between two pools of one process and
/// between processes. Closing another descriptor does not release these locks. The kernel releases the locks of a
/// killed process.
final class GateFile: Sendable {
  struct Bytes {
    fileprivate let start: off_t
    fileprivate let count: off_t

    static let queue = Bytes(start: 0, count: 1)
    static let turn = Bytes(start: 1, count: 1)
    static let queueAndTurn = Bytes(start: 0, count: 2)
  }

  enum Answer {
    case got, taken
    /// The file system does not support these locks, or the process was forked.
    case impossible
  }

  private let path: String
  private let descriptor: Int32
  private let number: Int
  private let identity: Identity
  private let generation = ForkGuard.generation
  private let stuck = Atomic(false)

  /// Opens or creates the gate file of a database; nil if opening fails.
  init?(besideFileAt databasePath: String) {
    path = GateRecord.path(besideFileAt: databasePath)
    guard let (descriptor, identity) = GateFile.open(path, besideFileAt: databasePath) else { return nil }
    self.descriptor = descriptor
    self.identity = identity
    number = OpenFiles.add(descriptor)
  }

  deinit { OpenFiles.close(number) }

  // MARK: Locking

  /// Locks the bytes unless another pool has locked any of them.
  func tryLock(_ bytes: Bytes) -> Answer {
    guard !isForked else { return .impossible }
    if control(GateFile.setLock, F_WRLCK, bytes) { return .got }
    return errno == EAGAIN || errno == EACCES ? .taken : .impossible
  }

  /// Waits without a timeout until the bytes are locked. The kernel serves waiters in order.
  func waitToLock(_ bytes: Bytes) -> Answer {
    !isForked && control(GateFile.setLockOrWait, F_WRLCK, bytes) ? .got : .impossible
  }

  func unlock(_ bytes: Bytes) {
    // In a forked process, unlocking would release the parent's lock.
    guard !isForked else { return }
    if !control(GateFile.setLock, F_UNLCK, bytes) { stuck.store(true, ordering: .releasing) }
  }

  /// True if a lock could not be released. The lock blocks other pools until the file is closed.
  var isStuck: Bool { stuck.load(ordering: .acquiring) }

  func isLockedByOthers(_ bytes: Bytes) -> Bool {
    guard !isForked else { return false }
    var lock = GateFile.lock(F_WRLCK, bytes)
    return control(GateFile.getLock, &lock) && Int32(lock.l_type) != F_UNLCK
  }

  /// The last time at which a handle outside a pool waited for SQLite's lock, in nanoseconds since 1970. A waiting
  /// handle sets the access time of the gate file.
  var lastWait: Int64? {
    var info = stat()
    guard !isForked, fstat(descriptor, &info) == 0 else { return nil }
    return Int64(info.st_atim.tv_sec) * 1_000_000_000 + Int64(info.st_atim.tv_nsec)
  }

  /// True if a handle outside a pool has waited for SQLite's lock in the last second. A waiting handle sets the access
  /// time of the lock file every few milliseconds.
  var hasRecentWait: Bool {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    guard let lastWait else { return false }
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec) - lastWait <= 1_000_000_000
  }

  /// Replaces the contents. If writing fails, the only effect is that other processes don't know which pool holds the
  /// turn.
  func write(_ bytes: [UInt8]) {
    guard !isForked else { return }
    // Overwrite the record before truncating the file. Pools update the record during a write, and another process must
    // never find the file empty.
    let count = bytes.isEmpty ? 0 : max(0, pwrite(descriptor, bytes, bytes.count, 0))
    _ = ftruncate(descriptor, off_t(count))
  }

  private var isForked: Bool { ForkGuard.generation != generation }

  private func control(_ command: Int32, _ type: Int32, _ bytes: Bytes) -> Bool {
    var lock = GateFile.lock(type, bytes)
    return control(command, &lock)
  }

  /// Calls `fcntl`, and repeats the call if a signal interrupts it. Returns true if the call succeeded.
  private func control(_ command: Int32, _ lock: inout flock) -> Bool {
    var result: Int32
    repeat { result = fcntl(descriptor, command, &lock) } while result != 0 && errno == EINTR && !isForked
    return result == 0
  }

  private static func lock(_ type: Int32, _ bytes: Bytes) -> flock {
    var lock = flock()
    lock.l_type = Int16(type)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = bytes.start
    lock.l_len = bytes.count
    return lock
  }

  // F_OFD_GETLK, F_OFD_SETLK and F_OFD_SETLKW, equal on all Linux platforms. Glibc's module hides the names.
  private static let getLock: Int32 = 36
  private static let setLock: Int32 = 37
  private static let setLockOrWait: Int32 = 38

  // MARK: The file

  /// The identity of the open file. Another file at the same path has another identity.
  private struct Identity: Equatable {
    let device: dev_t
    let inode: ino_t

    init(_ info: stat) {
      device = info.st_dev
      inode = info.st_ino
    }
  }

  var isInPlace: Bool {
    var info = stat()
    return lstat(path, &info) == 0 && Identity(info) == identity
  }

  private static func open(_ path: String, besideFileAt databasePath: String) -> (Int32, Identity)? {
    // If there is no database file, no pool needs a gate file. A new gate file gets the database's mode, so that the
    // same users can open both files.
    var database = stat()
    guard stat(databasePath, &database) == 0 else { return nil }
    // Don't follow links and don't block on a pipe, because another user might own the directory.
    let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    // Make two attempts, because another process can create the file between the two calls of `open`.
    for _ in 0..<2 {
      var descriptor = repeated { Glibc.open(path, flags) }
      if descriptor < 0, errno == ENOENT {
        descriptor = repeated { Glibc.open(path, flags | O_CREAT | O_EXCL, database.st_mode & 0o666) }
        if descriptor >= 0 { share(descriptor, like: database) }
      }
      guard descriptor >= 0 else {
        if errno == EEXIST { continue }
        return nil
      }
      var info = stat()
      guard fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
        _ = Glibc.close(descriptor)
        return nil
      }
      return (descriptor, Identity(info))
    }
    return nil
  }

  private static func repeated(_ call: () -> Int32) -> Int32 {
    while true {
      let result = call()
      if result >= 0 || errno != EINTR { return result }
    }
  }

  /// Gives the file the owner and the mode of the database, as SQLite does for the WAL. The umask might have removed
  /// permissions when the file was created.
  private static func share(_ descriptor: Int32, like database: stat) {
    if geteuid() == 0 { _ = fchown(descriptor, database.st_uid, database.st_gid) }
    _ = fchmod(descriptor, database.st_mode & 0o666)
  }
}

/// The descriptors of all gate files that this process has opened.
///
/// A forked process inherits the descriptors together with the locks. The locks would outlive a killed parent, so the
/// child closes the descriptors.
private enum OpenFiles {
  /// The open descriptors, keyed by a number that is never reused, because the kernel reuses descriptors.
  private static let files: LockedValue<(next: Int, descriptors: [Int: Int32])> = {
    pthread_atfork(
      { OpenFiles.files.lock() }, { OpenFiles.files.unlock() },
      {
        OpenFiles.files.unlock()
        OpenFiles.files.withLock { files in
          for descriptor in files.descriptors.values { _ = Glibc.close(descriptor) }
          files.descriptors.removeAll(keepingCapacity: true)
        }
      })
    return LockedValue((0, [:]))
  }()

  static func add(_ descriptor: Int32) -> Int {
    files.withLock { files in
      files.next += 1
      files.descriptors[files.next] = descriptor
      return files.next
    }
  }

  static func close(_ number: Int) {
    files.withLock { files in
      guard let descriptor = files.descriptors.removeValue(forKey: number) else { return }
      _ = Glibc.close(descriptor)
    }
  }
}
