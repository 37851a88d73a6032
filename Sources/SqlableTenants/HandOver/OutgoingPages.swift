import FoundationEssentials
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool

/// A reader of a tenant's file while the tenant is in use: all bytes, and then the pages that commits have changed.
///
/// The bytes of the file are read without a lock. If a checkpoint changes a page meanwhile, the page is in the WAL and
/// is sent again. A `WALHold` prevents a reset of the WAL before these pages were read.
///
/// Safe as `@unchecked Sendable`: one thread at a time uses the object, except for `close`, and `isOpen` is locked for
/// the time of each call.
final class OutgoingPages: @unchecked Sendable {
  private let root: SqliteDatabase
  private var hold: WALHold
  private var log: WALReader?
  private var file: RawFile?
  private let path: String
  let pageSize: Int
  private var position = WALReader.Position()
  private let isOpen = LockedValue(true)

  /// The pages of one part, with their places in the WAL. The pages are read when the part is sent, because a WAL can
  /// be larger than the memory.
  struct Part: Sendable {
    fileprivate let pages: ArraySlice<(key: UInt32, value: Int)>
    fileprivate let salts: UInt64

    var count: Int { pages.count }
  }

  /// Throws `.misuse` unless the database is in WAL mode.
  init(_ pool: SqlitePool, _ path: String) throws {
    (root, self.path) = (pool.root, path)
    hold = try WALHold(root)
    try hold.begin()
    guard try hold.isInWALMode() else { throw SqlError.misuse("only tenants in WAL mode can be handed over") }
    pageSize = try hold.pageSize()
    log = try WALReader(besideFileAt: path)
    file = try RawFile(path: path)
  }

  /// Returns the bytes of the file from `offset` on; none after the end.
  func bytes(at offset: Int) throws -> Data {
    try whileOpen { _, file in
      var file = file
      while true {
        do { return try file.part(at: offset) } catch {
          // A checkpoint after a VACUUM might have shortened the file. The removed pages are not needed: either they
          // were no longer in the database when the hold began, or a later commit has written them to the WAL.
          let now = try RawFile(path: path)
          guard now.size < file.size else { throw error }
          (file, self.file) = (now, now)
        }
      }
    }
  }

  /// Returns the parts with the pages that were changed since the last call.
  func changes() throws -> [Part] { try whileOpen { log, _ in try changedParts(log) } }

  /// Reads the pages of a part; returns nil if the WAL was reset meanwhile. The WAL can only be reset if these pages
  /// were in the file when the hold began, and such pages were sent with the file.
  func content(of part: Part) throws -> TenantPart.Content? {
    try whileOpen { log, _ in try content(of: part, log) }
  }

  private func content(of part: Part, _ log: WALReader) throws -> TenantPart.Content? {
    var data = Data(count: part.pages.count * pageSize)
    let found = Result {
      try data.withUnsafeMutableBytes { memory in
        for (index, page) in part.pages.enumerated() {
          try log.readPage(
            at: page.value,
            into: UnsafeMutableRawBufferPointer(rebasing: memory[index * pageSize..<(index + 1) * pageSize]))
        }
      }
    }
    // If the salts have changed, a reset of the WAL might have overwritten or truncated the pages that were just read.
    guard try logEnd().salts == part.salts else { return nil }
    try found.get()
    return .pages(data, numbers: part.pages.map { Int($0.key) }, size: pageSize)
  }

  /// Copies the WAL into the file and syncs the file, so that closing the tenant has little to do while its calls wait.
  func checkpoint() throws {
    try whileOpen { _, file in
      // The new hold begins before the old one ends, so that one of them always prevents a reset of the WAL.
      let next = try WALHold(root)
      try next.begin()
      hold.close()
      hold = next
      _ = try? root.checkpoint(.passive)
      // Sync here, because SQLite syncs the file only after it has copied the whole WAL. While other connections
      // commit, SQLite does not copy the whole WAL.
      try file.sync()
    }
  }

  /// Calls `send` with the pages that were changed since the last call of `changes`, copies the WAL into the file and
  /// deletes the WAL. Throws `.busy` if another connection has the file open or commits meanwhile.
  ///
  /// - Parameter last: A connection to the file, which is closed afterwards. As long as this connection is open, the
  ///   WAL is kept.
  /// - Returns: The numbers of the pages that `send` has not received, and the content of page 1. Without WAL mode,
  ///   every later commit changes page 1.
  func finish(
    _ last: SqliteDatabase, _ path: String, _ send: (TenantPart.Content) -> Void
  ) throws -> (numbers: [Int], firstPage: [UInt8]) {
    defer { try? last.close() }
    let (numbers, end) = try lastPages(send)
    // From here on, this connection releases no lock, so no commit can follow the checked end of the WAL before the WAL
    // is deleted.
    try last.execute("PRAGMA locking_mode = EXCLUSIVE")
    try last.beginTransaction(.immediate)
    let isSame = try last.locked { try last.openConnection().logEnd.map { $0 == end } ?? false }
    try last.rollbackTransaction()
    guard isSame else { throw OutgoingPages.changedMeanwhile }
    guard try last.query("PRAGMA journal_mode = DELETE", as: String.self) == ["delete"] else {
      throw OutgoingPages.changedMeanwhile
    }
    return (numbers, try firstPage(path))
  }

  func firstPage(_ path: String) throws -> [UInt8] { try RawFile(path: path).bytes(at: 0, count: pageSize) }

  static var changedMeanwhile: SqlError {
    SqlError(.busy, message: "another connection has written to the tenant's file while it was handed over")
  }

  private func lastPages(
    _ send: (TenantPart.Content) -> Void
  ) throws -> (numbers: [Int], end: (frames: Int, salts: UInt64)) {
    defer { close() }
    return try whileOpen { log, _ in
      let start = try logEnd()
      let parts = try changedParts(log)
      let end = try logEnd()
      guard end.frames == 0 || (end.salts, end.frames) == (position.salts, position.frames) else {
        // If the end of the WAL did not change during the read, there was no commit, so the WAL is damaged.
        guard start == end else { throw OutgoingPages.changedMeanwhile }
        throw SqlError(.io, message: "can't read the WAL")
      }
      // Closing the database changes the header, which is in the first page.
      var rest: Set<Int> = [1]
      for (index, part) in parts.enumerated() {
        // Send at most four parts here, because all of them are in memory at once.
        if index < 4, let content = try content(of: part, log) {
          send(content)
        } else {
          rest.formUnion(part.pages.map { Int($0.key) })
        }
      }
      return (rest.sorted(), end)
    }
  }

  /// Ends the hold. Other calls then throw `.closed`.
  func close() {
    isOpen.withLock { isOpen in
      if isOpen { hold.close() }
      isOpen = false
    }
  }

  /// Closes the file and the WAL. If the file was deleted or replaced, the system then frees the space of the old file,
  /// which takes 40 ms for 100 MB.
  func closeFiles() {
    close()
    (log, file) = (nil, nil)
  }

  private func whileOpen<Value>(_ body: (WALReader, RawFile) throws -> Value) throws -> Value {
    try isOpen.withLock { isOpen in
      guard isOpen, let log, let file else {
        throw SqlError(.closed, message: "the tenant's file was closed during the hand-over")
      }
      return try body(log, file)
    }
  }

  /// Returns the parts with the pages that commits have changed since `position`. Moves `position` to the WAL's end.
  private func changedParts(_ log: WALReader) throws -> [Part] {
    var changed: [UInt32: Int] = [:]
    let end = try logEnd()
    if end.frames > 0 { try log.read(from: &position, to: end) { commit in changed.merge(commit.pages) { $1 } } }
    let pages = changed.sorted { $0.key < $1.key }
    return TenantPart.ranges(pages.count, pageSize: pageSize).map { Part(pages: pages[$0], salts: position.salts) }
  }

  /// Returns the end of the WAL. Waits while a commit changes the WAL's index, which takes less than a microsecond if
  /// the commit's thread is not interrupted.
  private func logEnd() throws -> (frames: Int, salts: UInt64) {
    for _ in 0..<1_000 {
      if let end = try hold.logEnd() { return end }
      usleep(1_000)
    }
    throw SqlError(.busy, message: "can't read the WAL's index: another connection kept changing it for one second")
  }
}

/// The pages that the receiver still lacks, and the size of the complete file.
struct TenantTail: Sendable {
  fileprivate let numbers: [Int]
  fileprivate let pageSize: Int
  /// The range of each part in `numbers`.
  let ranges: [Range<Int>]
  fileprivate(set) var first: TenantPart.Content
  /// The size of the file, in bytes.
  let size: Int
}

extension RawFile {
  /// Returns the bytes of one part; none after the end. Throws `.io` if the bytes can't be read.
  func part(at offset: Int) throws -> Data {
    let bytes = bytes(at: offset, count: TenantPart.maximumBytes)
    guard !bytes.isEmpty || offset >= size else { throw SqlError(.io, message: "can't read the tenant's file") }
    return Data(bytes)
  }

  /// Returns the pages with these numbers as a `TenantTail`. Leaves out pages after the end of the file.
  func tail(_ numbers: [Int], pageSize: Int) throws -> TenantTail {
    let numbers = numbers.filter { $0 * pageSize <= size }
    let ranges = TenantPart.ranges(numbers.count, pageSize: pageSize)
    var tail = TenantTail(
      numbers: numbers, pageSize: pageSize, ranges: ranges, first: .pages(Data(), numbers: [], size: pageSize),
      size: size)
    if let range = ranges.first { tail.first = try part(of: tail, range) }
    return tail
  }

  func part(of tail: TenantTail, _ range: Range<Int>) throws -> TenantPart.Content {
    let numbers = Array(tail.numbers[range])
    var data = Data()
    for number in numbers {
      let page = bytes(at: (number - 1) * tail.pageSize, count: tail.pageSize)
      guard page.count == tail.pageSize else { throw SqlError(.io, message: "can't read the tenant's file") }
      data.append(contentsOf: page)
    }
    return .pages(data, numbers: numbers, size: tail.pageSize)
  }
}
