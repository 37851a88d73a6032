import Foundation
import Glibc
import Testing

/// What only an administrator can do to a file system, for tests that are skipped elsewhere.
enum Administrator {
  /// Whether a small file system can be mounted here.
  static let canMount: Bool = {
    let directory = NSTemporaryDirectory() + "sqlable-mount-\(UUID().uuidString)"
    mkdir(directory, 0o700)
    defer { rmdir(directory) }
    guard run("mount", "-t", "tmpfs", "-o", "size=1m", "none", directory) else { return false }
    return run("umount", directory)
  }()

  static func run(_ arguments: String...) -> Bool {
    guard let process = try? ChildProcess(arguments[0], Array(arguments.dropFirst()), errors: .dropped) else {
      return false
    }
    return process.end()
  }
}

/// Calls `body` with a directory on a file system of its own, of that size.
func withSmallDisk<Result>(size: String, _ body: (String) throws -> Result) throws -> Result {
  try withDirectory { directory in
    try #require(Administrator.run("mount", "-t", "tmpfs", "-o", "size=\(size)", "none", directory))
    defer { _ = Administrator.run("umount", "-l", directory) }
    return try body(directory)
  }
}

/// Deletes a file. Its space is free at once, also if a process that another test has started meanwhile inherited it.
func deleteAndFree(_ path: String) throws {
  truncate(path, 0)
  try FileManager.default.removeItem(atPath: path)
}

/// Makes a file unwritable for everybody, the administrator included, while `body` runs; false when that can't be done.
func withUnwritable(_ path: String, _ body: () throws -> Void) rethrows -> Bool {
  if geteuid() != 0 {
    chmod(path, 0o444)
    defer { chmod(path, 0o644) }
    try body()
    return true
  }
  guard Administrator.run("chattr", "+i", path) else { return false }
  defer { _ = Administrator.run("chattr", "-i", path) }
  try body()
  return true
}

/// The names of the files in a directory, in order; nothing when it can't be read.
func files(in directory: String) -> [String] {
  ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
}
