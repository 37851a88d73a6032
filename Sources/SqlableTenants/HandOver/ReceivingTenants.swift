import FoundationEssentials
import Glibc
import SqlableBackup
import SqlableCore

extension SqliteTenants {
  /// Receives a part of a tenant that another machine hands over; returns the receipt for the sender.
  ///
  /// ```swift
  /// let receipt = try await tenants.receive(part)     // for example in a handler of a request of the other machine
  /// ```
  ///
  /// Each part must arrive at the same process, in order; the same part can arrive twice. The tenant exists here when
  /// the last part was received. Before, the first use of its name would create another tenant, and the hand-over would
  /// throw `.tenant(.exists)`. A hand-over that begins again replaces the parts that were received before.
  ///
  /// Throws `.tenant(.exists)`, `.tenant(.missing)` for a part without a begin, such as after a restart,
  /// `.tenant(.handedOver)` if the tenant is being handed over from here, `.misuse` for parts in another order, the
  /// errors of a damaged file and of a full disk.
  public func receive(_ part: TenantPart) async throws -> TenantReceipt {
    try checkFork()
    let name = try TenantName(part.tenant)
    guard isToken(part.token) else { throw SqlError.misuse("the part has an invalid token").labelled(name.text) }
    let isOwner =
      switch part.content {
      case .end(let size):
        try await changing([name]) { [self] _ in try take(name, part, size: size) }
      default: try await changes.run { [self] in try add(part, to: name) }
      }
    return TenantReceipt(token: part.token, number: part.number, isOwner: isOwner)
  }

  /// Returns true if the tenant was received by this hand-over before.
  private func hasReceived(_ name: TenantName, _ part: TenantPart) throws -> Bool {
    try directory.exists(name) && directory.reception(part.token, of: name) == .ended
  }

  private func add(_ part: TenantPart, to name: TenantName) throws -> Bool {
    switch part.content {
    case .begin:
      if try hasReceived(name, part) { return true }
      try checkIsFree(name, part)
      let reception = try TenantReception(part.token, at: directory.newFile())
      receptions.withLock { $0[name] = reception }
    case .cancel:
      try directory.prepareDirectory(of: name)
      let isOwner = try directory.withLock(.exclusive, of: [name]) {
        if try hasReceived(name, part) { return true }
        try directory.note(.cancelled, part.token, of: name)
        return false
      }
      receptions.withLock { if $0[name]?.token == part.token { $0[name] = nil } }
      return isOwner
    case .bytes, .pages, .sync, .end:
      guard let reception = reception(name, part) else {
        if try hasReceived(name, part) { return true }
        throw unknown(name)
      }
      try reception.add(part)
    }
    return false
  }

  /// Makes this machine the owner, in one step.
  private func take(_ name: TenantName, _ part: TenantPart, size: Int) throws -> Bool {
    if try hasReceived(name, part) { return true }
    guard let reception = reception(name, part) else { throw unknown(name) }
    try reception.finish(part, size: size)
    try directory.prepareDirectory(of: name)
    try directory.withLock(.exclusive, of: [name]) {
      try checkIsFree(name, part)
      directory.removeRemains(of: name)
      // Before the rename. A crash in between leaves a record without a tenant, which means nothing.
      try directory.note(.ended, part.token, of: name)
      try files(at: reception.path).move(to: directory.file(of: name))
      // The tenant was here before, and comes back.
      directory.removeAwayFile(of: name)
    }
    withState { $0.checked[name] = nil }
    receptions.withLock { $0[name] = nil }
    return true
  }

  private func checkIsFree(_ name: TenantName, _ part: TenantPart) throws {
    guard !directory.exists(name) else { throw exists(name) }
    guard !directory.isAway(name) || directory.isGone(name) else { throw handedOver(name) }
    guard try directory.reception(part.token, of: name) != .cancelled else {
      throw SqlError(.tenant(.missing), message: "the hand-over was cancelled", label: name.text)
    }
  }

  private func reception(_ name: TenantName, _ part: TenantPart) -> TenantReception? {
    receptions.withLock { $0[name].flatMap { $0.token == part.token ? $0 : nil } }
  }

  private func unknown(_ name: TenantName) -> SqlError {
    SqlError(
      .tenant(.missing), message: "this process has not received the begin of the hand-over; hand over again",
      label: name.text)
  }
}

/// A tenant's file that is being received. The file is deleted with this object, unless it got the tenant's name.
final class TenantReception: Sendable {
  let token: String
  let path: String
  private let descriptor: Int32
  /// The number of the next part.
  private let next = LockedValue(1)

  init(_ token: String, at path: String) throws {
    descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw SqlError.system("create", path, errno) }
    (self.token, self.path) = (token, path)
  }

  deinit {
    close(descriptor)
    unlink(path)
  }

  func add(_ part: TenantPart) throws {
    try next.withLock { next in
      guard try isNew(part, next) else { return }
      switch part.content {
      case .bytes(let data, let offset): try write(data[...], at: offset)
      case .pages(let data, let numbers, let size):
        guard size.isPageSize, numbers.allSatisfy({ (1...Int(UInt32.max)).contains($0) }),
          data.count == numbers.count * size
        else { throw invalid }
        for (index, number) in numbers.enumerated() {
          let start = data.startIndex + index * size
          try write(data[start..<start + size], at: (number - 1) * size)
        }
      case .sync: try sync()
      case .begin, .end, .cancel: return
      }
      next += 1
    }
  }

  /// Ends the file. Also called again after an error.
  func finish(_ part: TenantPart, size: Int) throws {
    try next.withLock { next in
      guard try isNew(part, next) else { return }
      guard (1..<1 << 50).contains(size) else { throw invalid }
      guard ftruncate(descriptor, off_t(size)) == 0 else { throw SqlError.system("write to", path, errno) }
      try sync()
    }
  }

  /// True for the next part; false for the part that was received last.
  private func isNew(_ part: TenantPart, _ next: Int) throws -> Bool {
    guard part.number == next || part.number == next - 1 else {
      throw SqlError.misuse("expected part \(next) of the tenant, not part \(part.number)")
    }
    return part.number == next
  }

  private func write(_ data: Data, at offset: Int) throws {
    guard offset >= 0, offset < 1 << 50 else { throw invalid }
    try data.withUnsafeBytes { try writeAll($0, to: descriptor, at: offset, path) }
  }

  private func sync() throws {
    guard fsync(descriptor) == 0 else { throw SqlError.system("sync", path, errno) }
  }

  private var invalid: SqlError { SqlError.misuse("the part of the tenant has invalid numbers") }
}
