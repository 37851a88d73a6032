import Foundation

/// A small in-memory file system that a test can fill. Requires root.
final class TestDisk: Sendable {
  static let isAvailable: Bool = {
    guard geteuid() == 0 else { return false }
    let path = NSTemporaryDirectory() + "sqlable-disk-\(UUID().uuidString)"
    guard let disk = try? TestDisk(path, megabytes: 1) else { return false }
    disk.remove()
    return true
  }()

  let path: String

  init(_ path: String, megabytes: Int) throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try command("mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "sqlable", path)
  }

  deinit { remove() }

  /// Fills the disk.
  func fill() throws {
    let descriptor = open(path + "/filler", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 7, count: 1 << 16)
    while !bytes.isEmpty {
      if write(descriptor, bytes, bytes.count) < 0 { bytes.removeLast((bytes.count + 1) / 2) }
    }
  }

  /// Frees the space that `fill` took.
  func free() throws { try FileManager.default.removeItem(atPath: path + "/filler") }

  func remove() {
    _ = try? command("umount", "-l", path)
    try? FileManager.default.removeItem(atPath: path)
  }
}
