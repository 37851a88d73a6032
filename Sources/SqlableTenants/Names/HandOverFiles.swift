import FoundationEssentials
import Glibc
import SqlableCore

// The files of a hand-over, beside the tenant's file:
//
//   acme.sqlite           the tenant, on the machine that owns it
//   acme.sqlite-token     the token of the sender's hand-over, locked while a call hands the tenant over
//   acme.sqlite-away      the sender's file while no machine may write; an empty file once the receiver is the owner
//   acme.sqlite-received  the receiver's hand-overs that have ended or were cancelled
//
// The rename from acme.sqlite to acme.sqlite-away takes the right to write from the sender. The rename of the complete
// file to acme.sqlite gives this right to the receiver.

extension TenantDirectory {
  static let receivedEnding = "-received"

  func awayFile(of name: TenantName) -> String { file(of: name) + "-away" }

  /// True if the tenant was handed over, or if no machine may write to the tenant because its hand-over is unfinished.
  func isAway(_ name: TenantName) -> Bool { FileIdentity.linkInfo(awayFile(of: name)) != nil }

  /// True if the tenant was handed over, and its hand-over is ended: the receiver is certainly the owner.
  func isGone(_ name: TenantName) -> Bool { FileIdentity.linkInfo(awayFile(of: name))?.st_size == 0 }

  func removeAwayFile(of name: TenantName) { unlink(awayFile(of: name)) }

  /// Returns the names of the tenants with an unfinished hand-over, to which no machine may write.
  func unfinishedHandOvers() throws -> [String] {
    try (0..<TenantName.directories).flatMap { index in
      try fileNames(inDirectory: index).filter { $0.hasSuffix("-away") }
        .compactMap { TenantName(fileName: String($0.dropLast("-away".utf8.count))) }
        .filter { $0.directory == index && isAway($0) && !isGone($0) && !exists($0) }.map(\.text).sorted()
    }
  }

  /// Records that the receiver is the owner: replaces the away file, which is the sender's copy of the tenant, with an
  /// empty file.
  func confirm(_ name: TenantName) throws { try replace(awayFile(of: name), with: "") }

  /// Calls `confirm` again if the file that `confirm` wrote could not be synced.
  func confirmAgain(_ name: TenantName) throws {
    if isUnsynced(awayFile(of: name)) { try confirm(name) }
  }

  // MARK: The receiver's record

  /// The receiver's record of a hand-over.
  enum Reception: String {
    /// This machine is the owner, if the tenant's file exists. Without the file, the record has no effect.
    case ended
    /// This machine was the owner. The file has left this machine, or is about to leave.
    case owned
    /// This machine must never become the owner.
    case cancelled
  }

  func note(_ reception: Reception, _ token: String, of name: TenantName) throws {
    let lines = try receptions(of: name).filter { !$0.hasSuffix(" " + token) }
    // The records of hand-overs that have ended stay for good, because their senders can ask at any time.
    let ended = lines.filter { !$0.hasPrefix(Reception.cancelled.rawValue) }
    let cancelled = lines.filter { $0.hasPrefix(Reception.cancelled.rawValue) }
    try writeReceptions(
      ended + cancelled.suffix(TenantDirectory.maximumCancelled) + ["\(reception.rawValue) \(token)"], of: name)
  }

  private static let maximumCancelled = 16

  private func writeReceptions(_ receptions: [String], of name: TenantName) throws {
    try replace(receivedFile(of: name), with: receptions.joined(separator: "\n"))
  }

  private func receivedFile(of name: TenantName) -> String { file(of: name) + TenantDirectory.receivedEnding }

  /// Prepares for the deletion or the rename of a tenant's file. Call with the lock.
  ///
  /// Deletes the away file of an earlier hand-over from this machine. In the records of hand-overs to this machine,
  /// replaces `ended` by `owned`, because `ended` proves ownership only while the tenant's file exists.
  func prepareLeaving(_ name: TenantName) throws {
    guard exists(name) else { return }
    if isGone(name) { removeAwayFile(of: name) }
    let lines = try receptions(of: name)
    let ended = Reception.ended.rawValue + " "
    guard lines.contains(where: { $0.hasPrefix(ended) }) || isUnsynced(receivedFile(of: name)) else { return }
    let owned = Reception.owned.rawValue + " "
    try writeReceptions(lines.map { $0.hasPrefix(ended) ? owned + $0.dropFirst(ended.utf8.count) : $0 }, of: name)
  }

  /// Removes the records of hand-overs that were interrupted before the received file was renamed to the tenant's file.
  /// Call with the lock, while the tenant has no file.
  func removeUnfinishedReceptions(of name: TenantName) throws {
    let lines = try receptions(of: name)
    let kept = lines.filter { !$0.hasPrefix(Reception.ended.rawValue) }
    if kept.count < lines.count || isUnsynced(receivedFile(of: name)) { try writeReceptions(kept, of: name) }
  }

  func reception(_ token: String, of name: TenantName) throws -> Reception? {
    for line in try receptions(of: name) {
      let words = line.split(separator: " ")
      if words.count == 2, words[1] == token { return Reception(rawValue: String(words[0])) }
    }
    return nil
  }

  private func receptions(of name: TenantName) throws -> [String] {
    let path = receivedFile(of: name)
    guard FileIdentity.linkInfo(path) != nil else { return [] }
    return try readText(path).split(separator: "\n").map(String.init)
  }

  // MARK: The sender's record

  /// Takes the lock of a tenant's hand-over. Throws `.busy` if another call has the lock.
  func lockHandOver(of name: TenantName) throws -> HandOverLock {
    let path = file(of: name) + "-token"
    let directory = try OpenDirectories([directory(of: name)])
    while true {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { throw SqlError.system("create", path, errno) }
      let lock = HandOverLock(descriptor, path, in: directory)
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        throw SqlError(.busy, message: "the tenant is being handed over by another call", label: name.text)
      }
      var info = stat()
      // The previous holder of the lock might have deleted the file before this call got the lock.
      if fstat(descriptor, &info) == 0, FileIdentity(path) == FileIdentity(info) { return lock }
    }
  }
}

/// The lock of one hand-over, and the file with the hand-over's token.
final class HandOverLock: Sendable {
  private let descriptor: Int32
  private let path: String
  private let directory: OpenDirectories

  init(_ descriptor: Int32, _ path: String, in directory: OpenDirectories) {
    (self.descriptor, self.path, self.directory) = (descriptor, path, directory)
  }

  deinit { close(descriptor) }

  /// Releases the lock now. `deinit` can run later, because a thread can keep a reference for a moment, and a forked
  /// process can keep the descriptor.
  ///
  /// Call this last, after the changes of names were synced and the file was removed. Another call does not wait for
  /// the lock, but throws `.busy`. A call that locks the removed file finds no such file at the path, and tries again.
  func unlock() { flock(descriptor, LOCK_UN) }

  func write(_ token: String) throws {
    guard ftruncate(descriptor, 0) == 0 else { throw SqlError.system("write to", path, errno) }
    try writeSynced(token, to: descriptor, path)
    try directory.sync()
  }

  func token() throws -> String {
    let token = try readText(path)
    guard isToken(token) else {
      throw SqlError(.io, message: "the file \(path) does not contain a valid hand-over token")
    }
    return token
  }

  /// Deletes the file of a hand-over that has ended, unless the file belongs to a later hand-over.
  func remove() {
    var info = stat()
    guard fstat(descriptor, &info) == 0, FileIdentity(path) == FileIdentity(info) else { return }
    unlink(path)
  }
}

func newToken() -> String {
  (0..<4).map { _ in
    let digits = String(UInt32.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }.joined()
}

func isToken(_ text: String) -> Bool {
  text.utf8.count == 32
    && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (97...102).contains($0) }
}

private func readText(_ path: String) throws -> String {
  do { return try String(contentsOfFile: path, encoding: .utf8) } catch {
    throw SqlError(.io, message: "can't read the file \(path)")
  }
}
