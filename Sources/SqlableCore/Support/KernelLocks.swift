import Glibc

package struct KernelLock: Hashable {
  /// The process that holds the lock; 0 for the lock of an open file description, because the kernel then reports no
  /// process.
  package let process: Int
  package let inode: UInt64
  package let bytes: ClosedRange<Int>
  package let isWriting: Bool

  /// Parses a line of /proc/locks. Nil for a lock that a process waits for and does not hold.
  fileprivate init?(_ line: Substring) {
    // 1: POSIX  ADVISORY  WRITE 1234 fd:01:5678 120 120
    let words = line.split(separator: " ")
    guard let kind = words.firstIndex(where: { $0 == "READ" || $0 == "WRITE" }), words.count > kind + 4,
      !words.contains("->"), let process = Int(words[kind + 1]),
      let inode = words[kind + 2].split(separator: ":").last.flatMap({ UInt64($0) }), let start = Int(words[kind + 3])
    else { return nil }
    (self.process, self.inode, isWriting) = (max(process, 0), inode, words[kind] == "WRITE")
    bytes = start...max(start, Int(words[kind + 4]) ?? .max)
  }
}

/// The kernel's list of file locks.
package enum KernelLocks {
  /// All locks in the kernel's list. A single reading can miss some locks, because the kernel returns the list in
  /// parts, and locks change in between.
  package static var all: [KernelLock] {
    (text(ofFileAt: "/proc/locks", upTo: 1 << 22) ?? "").split(separator: "\n").compactMap { KernelLock($0) }
  }

  /// Returns the process that holds a write lock on a byte of a file; nil if no process is known to hold a write lock.
  ///
  /// Does not use `fcntl`, which requires opening the file. Closing the file again would drop SQLite's locks in this
  /// process.
  static func writer(ofByte byte: Int, inFileAt path: String) -> Int? {
    guard let info = FileIdentity.info(path) else { return nil }
    return first { lock in
      lock.isWriting && lock.process > 0 && lock.inode == UInt64(info.st_ino) && lock.bytes.contains(byte)
    }?.process
  }

  /// Returns another process that has the file open in WAL mode, or that reads or writes the file in another journal
  /// mode; nil if no such process is known.
  package static func otherProcess(withFileAt path: String) -> Int? {
    let inodes = [path, path + "-shm"].compactMap { FileIdentity.info($0) }.map { UInt64($0.st_ino) }
    guard !inodes.isEmpty else { return nil }
    let thisProcess = Int(getpid())
    return first { lock in lock.process > 0 && lock.process != thisProcess && inodes.contains(lock.inode) }?.process
  }

  /// Reads the list up to three times, because one reading can miss a lock.
  private static func first(where isSearched: (KernelLock) -> Bool) -> KernelLock? {
    for _ in 0..<3 {
      if let lock = all.first(where: isSearched) { return lock }
    }
    return nil
  }

  /// Returns a file's text up to about `limit` bytes; nil if unreadable. Reads in a loop, because the kernel returns
  /// files such as `/proc/locks` page by page.
  package static func text(ofFileAt path: String, upTo limit: Int) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var (text, part): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: min(limit, 1 << 16)))
    while text.count < limit {
      let count = read(descriptor, &part, part.count)
      guard count > 0 else { break }
      text += part[..<count]
    }
    return String(decoding: text, as: UTF8.self)
  }
}
