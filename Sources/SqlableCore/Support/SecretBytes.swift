import Glibc

/// Secret bytes, which are overwritten on deallocation.
///
/// The bytes are stored in separate memory pages. If the system allows, these pages are not written to swap space or
/// core dumps. If the limit of locked memory (`ulimit -l`) is too low, the pages can be swapped.
///
/// `@unchecked Sendable` is sound: the memory is written only in `init` and `deinit`.
package final class SecretBytes: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer
  package let count: Int

  /// Allocates `count` zero bytes and calls `fill` with the memory. Throws `.outOfMemory`.
  @inline(never)
  init(count: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) throws {
    let page = max(1, sysconf(Int32(_SC_PAGESIZE)))
    let size = max(1, (count + page - 1) / page) * page
    let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory, memory != MAP_FAILED else { throw SqlError.withoutMemory }
    mlock(memory, size)
    madvise(memory, size, MADV_DONTDUMP)
    self.memory = UnsafeMutableRawBufferPointer(start: memory, count: size)
    self.count = count
    fill(UnsafeMutableRawBufferPointer(rebasing: self.memory[..<count]))
  }

  package convenience init(_ bytes: some Collection<UInt8>) throws {
    try self.init(count: bytes.count) { memory in memory.copyBytes(from: bytes) }
  }

  /// Reads at most `limit` bytes of a key file. Throws `.cannotOpen` or `.io` if the file can't be read.
  package convenience init(ofFileAt path: String, limit: Int) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SqlError.system("open the key file", path, errno, isRead: true) }
    defer { close(descriptor) }
    var (length, code): (Int, Int32) = (0, 0)
    let bytes = try SecretBytes(count: limit) { memory in
      while length < limit {
        let count = read(descriptor, memory.baseAddress.map { $0 + length }, limit - length)
        if count < 0 { code = errno }
        guard count > 0 else { break }
        length += count
      }
    }
    guard code == 0 else { throw SqlError.system("read the key file", path, code, isRead: true) }
    try self.init(count: length) { memory in bytes.withBytes { memory.copyBytes(from: $0[..<length]) } }
  }

  deinit {
    guard let start = memory.baseAddress else { return }
    // The compiler can't remove this call, unlike a call of `memset`.
    explicit_bzero(start, memory.count)
    munmap(start, memory.count)
  }

  /// Calls `body` with the bytes, which are valid until `body` returns.
  package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    // Without this call, the optimizer could release this object after loading `memory`.
    try withExtendedLifetime(self) { try body(UnsafeRawBufferPointer(rebasing: memory[..<count])) }
  }

  /// Compares all bytes, so that the time does not depend on the number of equal bytes.
  func isEqual(to other: SecretBytes) -> Bool {
    guard count == other.count else { return false }
    return withBytes { left in
      other.withBytes { right in zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0 }
    }
  }
}
