import FoundationEssentials
import Glibc
import SqlableBackup
import SqlableCore

/// A tenant's file that is being received from another machine.
///
/// The file is deleted with this object, unless it got the tenant's name. The object must end before another connection
/// of this process opens the file, because closing the descriptor would drop the connection's locks.
final class TenantReception: Sendable {
  let token: String
  let path: String
  private let descriptor: Int32
  /// The number of the next part.
  private let next: LockedValue<Int>

  init(_ token: String, at path: String, begin number: Int) throws {
    guard (0..<1 << 60).contains(number) else { throw TenantReception.invalid }
    next = LockedValue(number + 1)
    descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw SqlError.system("create", path, errno) }
    (self.token, self.path) = (token, path)
  }

  deinit {
    close(descriptor)
    unlink(path)
  }

  /// Calls `body` for the next part, and does nothing for the part that was taken last. Throws `.misuse` for another
  /// part.
  func take(_ number: Int, _ body: () throws -> Void) throws {
    try next.withLock { next in
      if number == next - 1 { return }
      try TenantReception.check(number, next)
      try body()
      next += 1
    }
  }

  /// Throws `.misuse` for another part than the next one.
  func check(_ number: Int) throws { try next.withLock { try TenantReception.check(number, $0) } }

  private static func check(_ number: Int, _ next: Int) throws {
    guard number == next else {
      throw SqlError.misuse("expected part \(next) of the tenant, not part \(number)")
    }
  }

  /// Writes the parts of the file. The numbers come from another machine.
  func write(_ data: Data, at offset: Int) throws {
    guard (0..<1 << 50).contains(offset) else { throw TenantReception.invalid }
    try data.withUnsafeBytes { try writeAll($0, to: descriptor, at: offset, path) }
  }

  func write(_ data: Data, pages numbers: [Int], size: Int) throws {
    guard size.isPageSize, numbers.allSatisfy({ (1...Int(UInt32.max)).contains($0) }),
      data.count == numbers.count * size
    else { throw TenantReception.invalid }
    for (index, number) in numbers.enumerated() {
      let start = data.startIndex + index * size
      try write(data[start..<start + size], at: (number - 1) * size)
    }
  }

  func sync() throws {
    guard fsync(descriptor) == 0 else { throw SqlError.system("sync", path, errno) }
  }

  /// Gives the file its size. Also called again after an error.
  func finish(size: Int) throws {
    guard (1..<1 << 50).contains(size) else { throw TenantReception.invalid }
    guard ftruncate(descriptor, off_t(size)) == 0 else { throw SqlError.system("write to", path, errno) }
    try sync()
  }

  private static var invalid: SqlError { SqlError.misuse("the part of the tenant has invalid numbers") }
}
