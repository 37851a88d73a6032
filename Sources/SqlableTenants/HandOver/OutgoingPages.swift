import FoundationEssentials
import SqlableBackup
import SqlableCore
import SqlablePool

/// Reads a tenant's file while the tenant is in use: all bytes, and then the pages that commits have changed.
///
/// The bytes of the file are read without a lock. If a checkpoint changes a page meanwhile, the page is in the WAL and
/// is sent again. A `WALHold` prevents a reset of the WAL before these pages were read.
///
/// Safe as `@unchecked Sendable`: one thread at a time uses the object.
final class OutgoingPages: @unchecked Sendable {
  private let root: SqliteDatabase
  private var hold: WALHold
  private let log: WALReader
  private let file: RawFile
  let pageSize: Int
  private var position = WALReader.Position()

  /// Throws `.misuse` unless the database is in WAL mode.
  init(_ pool: SqlitePool, _ path: String) throws {
    root = pool.root
    hold = try WALHold(root)
    try hold.begin()
    guard try hold.isInWALMode() else { throw SqlError.misuse("only tenants in WAL mode can be handed over") }
    pageSize = try hold.pageSize()
    log = try WALReader(besideFileAt: path)
    file = try RawFile(path: path)
  }

  /// Returns the bytes of the file from `offset` on; none after the end.
  func bytes(at offset: Int) throws -> Data { try file.part(at: offset) }

  /// Returns the pages that were changed since the last call, in parts; nil if the WAL was reset meanwhile. The reset
  /// WAL then has all further changes.
  func changes() throws -> [TenantPart.Content]? {
    let pages = try changedPages().sorted { $0.key < $1.key }
    let salts = position.salts
    var parts: [TenantPart.Content] = []
    for start in stride(from: 0, to: pages.count, by: max(1, TenantPart.maximumBytes / pageSize)) {
      let some = pages[start..<min(pages.count, start + max(1, TenantPart.maximumBytes / pageSize))]
      var data = Data(count: some.count * pageSize)
      try data.withUnsafeMutableBytes { memory in
        for (index, page) in some.enumerated() {
          try log.readPage(
            at: page.value,
            into: UnsafeMutableRawBufferPointer(rebasing: memory[index * pageSize..<(index + 1) * pageSize]))
        }
      }
      parts.append(.pages(data, numbers: some.map { Int($0.key) }, size: pageSize))
    }
    // A reset overwrites the pages that this method reads.
    guard try pages.isEmpty || hold.logEnd()?.salts == salts else { return nil }
    return parts
  }

  /// Copies the WAL into the file, so that closing the tenant has little to copy while its calls wait.
  func checkpoint() throws {
    // The new hold begins before the old one ends, so that one of them always prevents a reset of the WAL.
    let next = try WALHold(root)
    try next.begin()
    hold.close()
    hold = next
    _ = try? root.checkpoint(.passive)
  }

  /// Returns the numbers of the pages that were changed since the last call, and ends the hold. Copies the WAL into the
  /// file and deletes it. Throws `.busy` if another connection has the file open or commits meanwhile.
  ///
  /// - Parameter last: A connection to the file, which is closed afterwards. As long as it is open, the WAL is kept.
  /// - Returns: Also the first page. A later commit changes it, because the file is no longer in WAL mode.
  func finish(_ last: SqliteDatabase, _ path: String) throws -> (numbers: [Int], firstPage: [UInt8]) {
    defer { try? last.close() }
    let (numbers, end) = try lastPages()
    // No lock is released from here on, so that the end of the WAL is also its end when it is deleted.
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

  private func lastPages() throws -> (numbers: [Int], end: (frames: Int, salts: UInt64)) {
    defer { hold.close() }
    let start = try hold.logEnd()
    // Closing the database changes the header, which is in the first page.
    let pages = Set(try changedPages().keys.map(Int.init)).union([1]).sorted()
    guard let end = try hold.logEnd() else { throw OutgoingPages.changedMeanwhile }
    guard end.frames == 0 || (end.salts, end.frames) == (position.salts, position.frames) else {
      // The WAL is damaged if no commit has changed it since it was read.
      guard let start, start == end else { throw OutgoingPages.changedMeanwhile }
      throw SqlError(.io, message: "can't read the WAL")
    }
    return (pages, end)
  }

  func close() { hold.close() }

  /// Returns the offset in the WAL of each page that was changed since the last call, and moves the position.
  private func changedPages() throws -> [UInt32: Int] {
    var pages: [UInt32: Int] = [:]
    // `logEnd` is nil while a commit changes the WAL's index.
    if let end = try hold.logEnd(), end.frames > 0 {
      try log.read(from: &position, to: end) { commit in pages.merge(commit.pages) { $1 } }
    }
    return pages
  }
}

extension RawFile {
  /// Returns the bytes of one part; none after the end. Throws `.io` if the bytes can't be read.
  func part(at offset: Int) throws -> Data {
    let bytes = bytes(at: offset, count: TenantPart.maximumBytes)
    guard !bytes.isEmpty || offset >= size else { throw SqlError(.io, message: "can't read the tenant's file") }
    return Data(bytes)
  }

  /// Returns these pages in parts. Pages after the end are left out.
  func pages(_ numbers: [Int], size pageSize: Int) throws -> [TenantPart.Content] {
    let numbers = numbers.filter { $0 * pageSize <= size }
    let width = max(1, TenantPart.maximumBytes / pageSize)
    return try stride(from: 0, to: numbers.count, by: width).map { start in
      let some = Array(numbers[start..<min(numbers.count, start + width)])
      var data = Data()
      for number in some {
        let page = bytes(at: (number - 1) * pageSize, count: pageSize)
        guard page.count == pageSize else { throw SqlError(.io, message: "can't read the tenant's file") }
        data.append(contentsOf: page)
      }
      return .pages(data, numbers: some, size: pageSize)
    }
  }
}
