import Glibc
import SqlableCore
import Synchronization

/// The claim on a reader, with which a thread reads without taking the pool's lock.
///
/// An idle reader is free. A thread claims a free reader, reads, and frees the reader again, with one atomic operation
/// each. Before the pool decides about its readers, the thread with the pool's lock revokes all claims: the lock then
/// guards all readers, and a read in progress becomes a call of the pool's state. Its thread finds the claim revoked,
/// and ends the call with the lock.
struct ReaderClaim: ~Copyable {
  private static var guarded: UInt { 0 }
  private static var free: UInt { 1 }
  /// The address of the claimant's `ThreadReads`, or one of the two numbers above.
  private let claimant = Atomic(ReaderClaim.guarded)

  /// Claims the reader for the current thread. Returns false if the reader is not free.
  func take(_ thread: UnsafeMutablePointer<ThreadReads>) -> Bool {
    claimant.compareExchange(
      expected: ReaderClaim.free, desired: UInt(bitPattern: thread), ordering: .acquiringAndReleasing
    ).exchanged
  }

  /// Frees the reader that the current thread has claimed. Returns false if the claim was revoked.
  func giveBack(_ thread: UnsafeMutablePointer<ThreadReads>) -> Bool {
    claimant.compareExchange(
      expected: UInt(bitPattern: thread), desired: ReaderClaim.free, ordering: .acquiringAndReleasing
    ).exchanged
  }

  /// Makes the pool's lock guard the reader. Returns the read whose claim this call has revoked; nil if there was no
  /// claim. The read can't end before the lock is released. Call with the pool's lock held.
  func revoke() -> ThreadReads.Read? {
    guard claimant.load(ordering: .acquiring) != ReaderClaim.guarded else { return nil }
    let old = claimant.exchange(ReaderClaim.guarded, ordering: .acquiringAndReleasing)
    return old == ReaderClaim.free ? nil : UnsafePointer<ThreadReads>(bitPattern: old)?.pointee.read
  }

  var isFree: Bool { claimant.load(ordering: .acquiring) == ReaderClaim.free }

  /// Frees a reader that the pool's lock guards. Call with the pool's lock held.
  func free() {
    guard claimant.load(ordering: .relaxed) == ReaderClaim.guarded else { return }
    claimant.store(ReaderClaim.free, ordering: .releasing)
  }
}

/// The reads of a thread on pools. Other threads use only `read`.
struct ThreadReads {
  /// The read for which the thread has claimed a reader, or the latest such read.
  struct Read {
    var callSite = CallSite(file: "", line: 0)
    /// The time at which the read began, as a time of `ClockTime`.
    var begin = 0
    let thread = pthread_self()
  }

  /// The number of the pool to which `reader` belongs.
  var pool = 0
  /// The reader that the thread used last. Its pool retains the reader, so use it only if the pool exists.
  var reader: Unmanaged<PooledHandle>?
  /// The number of calls on this thread that hold handles of pools.
  var depth = 0
  /// The number of reads of tasks.
  var taskReads = 0
  /// Written before the claim. From then on until the end of the claim, a thread with the pool's lock can revoke the
  /// claim and read this property.
  var read = Read()

  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return pthread_key_create(&key) { $0?.deallocate() } == 0 ? key : nil
  }()

  /// The reads of the current thread; nil if the process has no thread-local memory left.
  static var current: UnsafeMutablePointer<ThreadReads>? {
    guard let key else { return nil }
    return pthread_getspecific(key)?.assumingMemoryBound(to: ThreadReads.self) ?? add(key)
  }

  /// Counts a read of a task on this thread; returns the number of such reads.
  static func countTaskRead() -> Int {
    guard let current else { return 0 }
    current.pointee.taskReads &+= 1
    return current.pointee.taskReads
  }

  @inline(never)
  private static func add(_ key: pthread_key_t) -> UnsafeMutablePointer<ThreadReads>? {
    let new = UnsafeMutablePointer<ThreadReads>.allocate(capacity: 1)
    new.initialize(to: ThreadReads())
    if pthread_setspecific(key, new) == 0 { return new }
    new.deallocate()
    return nil
  }
}

/// The time of `ContinuousClock` as a number of nanoseconds, which is faster to compare than an `Instant`.
enum ClockTime {
  static var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }

  /// Converts a past time to an instant.
  static func instant(_ time: Int) -> ContinuousClock.Instant { .now - .nanoseconds(now - time) }
}

/// The number and times of the reads for which threads have claimed a reader. Only the claimant adds reads. Any thread
/// can read the counts, which can be between two of the stores of `add`.
struct ClaimCounts: ~Copyable {
  private let count = Atomic(0)
  private let nanoseconds = Atomic(0)
  private let most = Atomic(0)

  var reads: Int { count.load(ordering: .relaxed) }
  var used: Duration { .nanoseconds(nanoseconds.load(ordering: .relaxed)) }
  var longest: Duration { .nanoseconds(most.load(ordering: .relaxed)) }

  func add(_ time: Int) {
    count.store(count.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    nanoseconds.store(nanoseconds.load(ordering: .relaxed) &+ time, ordering: .relaxed)
    if time > most.load(ordering: .relaxed) { most.store(time, ordering: .relaxed) }
  }

  func forgetLongest() { most.store(0, ordering: .relaxed) }
}

extension SqlitePool.State {
  /// Makes the pool's lock guard all readers.
  mutating func revokeClaims() {
    for reader in readers {
      if let read = reader.claim.revoke() { adopt(reader, read) }
    }
  }

  /// Counts the read of a thread whose claim was revoked as a call.
  private mutating func adopt(_ reader: PooledHandle, _ read: ThreadReads.Read) {
    idleReaders.removeAll { $0 == reader.number }
    calls += 1
    reader.call = PoolCall(of: read, on: reader)
    setHolder(of: reader, read.thread)
  }

  /// Frees the idle readers, if the pool allows claims. Call at the end of a critical section.
  func freeIdleReaders() {
    guard allowsClaims else { return }
    for number in idleReaders { readers[number - 1].freeIfOpen() }
  }

  /// Frees the reader if it is idle and the pool allows claims. Call at the end of a critical section.
  func freeIfIdle(_ reader: PooledHandle) {
    if allowsClaims, reader.call == nil, idleReaders.last == reader.number { reader.freeIfOpen() }
  }

  /// False if each read needs a decision of the state.
  private var allowsClaims: Bool {
    // The timer that reports long reads runs only if `isChecked` is true.
    phase == .open && closeBarrier == nil && readersEnd == nil && isChecked
  }
}

extension PooledHandle {
  fileprivate func freeIfOpen() { if isOpen { claim.free() } }
}
