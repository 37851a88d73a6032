import Glibc

/// The locks of files, as the kernel lists them.
enum KernelLocks {
  /// The process that holds a write lock on a byte of a file; nil if none does, or the kernel does not tell.
  ///
  /// `fcntl` would tell it too, but needs the file open, and closing it again drops SQLite's own locks.
  static func writer(ofByte byte: Int, inFileAt path: String) -> Int? {
    guard let info = FileIdentity.info(path) else { return nil }
    for line in list.split(separator: "\n") {
      // 1: POSIX  ADVISORY  WRITE 1234 fd:01:5678 120 120
      let words = line.split(separator: " ")
      guard let kind = words.firstIndex(of: "WRITE"), words.count > kind + 4, !words.contains("->"),
        let process = Int(words[kind + 1]), process > 0,
        words[kind + 2].split(separator: ":").last.flatMap({ UInt64($0) }) == UInt64(info.st_ino),
        let start = Int(words[kind + 3]), start <= byte, Int(words[kind + 4]) ?? .max >= byte
      else { continue }
      return process
    }
    return nil
  }

  private static var list: String { text(ofFileAt: "/proc/locks", upTo: 1 << 22) ?? "" }

  /// The text of a file, up to so many bytes; nil if it can't be read.
  static func text(ofFileAt path: String, upTo limit: Int) -> String? {
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
