import FoundationEssentials
import Glibc
import SqlableBackup
import SqlableCore

/// A tenant's file that is being received from another machine.
///
/// The descriptor is closed before the file gets the tenant's name, because closing it later would drop the locks of
/// this process's connections. The file is deleted when the reception ends, unless it got the tenant's name.
final class TenantReception: Sendable {
  let token: String
  let path: String
  private let state: LockedValue<State>

  private struct State {
    /// The number of the next part.
    var next: Int
    var phase: Phase
  }

  private enum Phase: Equatable {
    case open(Int32)
    /// The file has this size, is synced and closed.
    case complete(Int)
    case ended
  }

  init(_ token: String, at path: String, begin number: Int) throws {
    guard (0..<1 << 60).contains(number) else { throw TenantReception.invalid }
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw SqlError.system("create", path, errno) }
    (self.token, self.path) = (token, path)
    state = LockedValue(State(next: number + 1, phase: .open(descriptor)))
  }

  deinit { end() }

  /// Ends the reception, and deletes the file. Waits for a part that is being written.
  func end() { state.withLock { end(&$0) } }

  private func end(_ state: inout State) {
    guard state.phase != .ended else { return }
    if case .open(let descriptor) = state.phase { close(descriptor) }
    state.phase = .ended
    unlink(path)
  }

  // MARK: Parts

  /// Writes the next part. Does nothing if the last written part arrives again. Throws `.misuse` for any other part.
  /// Returns false if the reception has ended.
  func take(_ part: TenantPart) throws -> Bool {
    try state.withLock { state in
      guard state.phase != .ended else { return false }
      if part.number == state.next - 1 { return true }
      try check(part.number, state)
      guard case .open(let descriptor) = state.phase else {
        throw SqlError.misuse("the tenant's file is complete; only the last part can arrive again")
      }
      switch part.content {
      case .bytes(let data, let offset): try write(data, to: descriptor, at: offset)
      case .pages(let data, let numbers, let size): try write(data, to: descriptor, pages: numbers, size: size)
      case .sync: try sync(descriptor, &state)
      case .begin, .end, .cancel: break
      }
      state.next += 1
      return true
    }
  }

  /// Gives the file its final size, and calls `body`, which gives the file the tenant's name. Returns false if the
  /// reception has ended. Can be called again after an error.
  ///
  /// - Parameter usesWAL: True to turn on WAL mode in the header of a file that is not encrypted. The sender has turned
  ///   WAL mode off. SQLite would turn it on with several syncs, while the tenant's first call waits.
  func finish(_ number: Int, size: Int, usesWAL: Bool, _ body: () throws -> Void) throws -> Bool {
    try state.withLock { state in
      guard state.phase != .ended else { return false }
      try check(number, state)
      guard (1..<1 << 50).contains(size) else { throw TenantReception.invalid }
      if case .open(let descriptor) = state.phase {
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw SqlError.system("write to", path, errno) }
        if usesWAL { try turnOnWAL(descriptor) }
        try sync(descriptor, &state)
        close(descriptor)
        state.phase = .complete(size)
      }
      guard state.phase == .complete(size) else { throw TenantReception.invalid }
      try body()
      state.phase = .ended
      return true
    }
  }

  private func check(_ number: Int, _ state: State) throws {
    guard number == state.next else {
      throw SqlError.misuse("expected part \(state.next) of the tenant, not part \(number)")
    }
  }

  /// Writes a part of the file. Checks the offset, because it comes from another machine.
  private func write(_ data: Data, to descriptor: Int32, at offset: Int) throws {
    guard (0..<1 << 50).contains(offset) else { throw TenantReception.invalid }
    try data.withUnsafeBytes { try writeAll($0, to: descriptor, at: offset, path) }
  }

  private func write(_ data: Data, to descriptor: Int32, pages numbers: [Int], size: Int) throws {
    guard size.isPageSize, numbers.allSatisfy({ (1...Int(UInt32.max)).contains($0) }),
      data.count == numbers.count * size
    else { throw TenantReception.invalid }
    for (index, number) in numbers.enumerated() {
      let start = data.startIndex + index * size
      try write(data[start..<start + size], to: descriptor, at: (number - 1) * size)
    }
  }

  private func turnOnWAL(_ descriptor: Int32) throws {
    // The version numbers for writing and reading follow the page size. Both are 1 for a journal, and 2 for a WAL.
    var header = [UInt8](repeating: 0, count: 20)
    guard pread(descriptor, &header, header.count, 0) == header.count,
      header[..<16].elementsEqual("SQLite format 3\0".utf8), header[18...] == [1, 1]
    else { return }
    try [2, 2 as UInt8].withUnsafeBytes { try writeAll($0, to: descriptor, at: 18, path) }
  }

  private func sync(_ descriptor: Int32, _ state: inout State) throws {
    guard fsync(descriptor) == 0 else {
      let error = SqlError.system("sync", path, errno)
      // Don't allow another sync: it would succeed, although the pages of the failed sync are lost.
      end(&state)
      throw error
    }
  }

  private static var invalid: SqlError {
    SqlError.misuse("the part of the tenant has an invalid offset, page number or size")
  }
}
