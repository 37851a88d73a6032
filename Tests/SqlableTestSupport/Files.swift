import Foundation
import Glibc
import Testing

/// File system operations that need an administrator. Tests that use them are skipped elsewhere.
enum Administrator {
  /// True if a small file system can be mounted here.
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

/// Calls `body` with a directory on a separate file system of this size.
func withSmallDisk<Result>(size: String, _ body: (String) throws -> Result) throws -> Result {
  try withDirectory { directory in
    try #require(Administrator.run("mount", "-t", "tmpfs", "-o", "size=\(size)", "none", directory))
    defer { _ = Administrator.run("umount", "-l", directory) }
    return try body(directory)
  }
}

/// Deletes a file and frees its space at once, even if a process of another test has inherited the file.
func deleteAndFree(_ path: String) throws {
  truncate(path, 0)
  try FileManager.default.removeItem(atPath: path)
}

/// Makes a file unwritable, also for the administrator, while `body` runs; false if that is impossible.
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

/// The sorted names of the files in a directory; empty if the directory can't be read.
func files(in directory: String) -> [String] {
  ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
}

/// The paths of the files that this process has open.
func openFiles() -> [String] {
  files(in: "/proc/self/fd").compactMap {
    try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
  }
}
