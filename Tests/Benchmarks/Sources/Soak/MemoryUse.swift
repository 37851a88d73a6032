import CMalloc
import CSQLite3
import Foundation

/// What the process holds at one moment, in bytes but for the last two.
struct MemoryUse: Sendable {
  /// Resident, as the kernel counts it.
  let resident: Int
  /// Resident and written to by this process: neither code nor files.
  let anonymous: Int
  /// Allocated and not freed, over all of the allocator's arenas.
  let allocated: Int
  /// Freed, and kept by the allocator.
  let free: Int
  /// SQLite's part of what is allocated.
  let sqlite: Int
  let threads: Int
  let descriptors: Int

  static func now() -> MemoryUse {
    let allocator = mallinfo2()
    let map = sizes(inFile: "/proc/self/smaps_rollup")
    return MemoryUse(
      resident: map["Rss"] ?? 0, anonymous: map["Anonymous"] ?? 0,
      allocated: Int(allocator.uordblks) + Int(allocator.hblkhd), free: Int(allocator.fordblks),
      sqlite: Int(sqlite3_memory_used()), threads: count(inDirectory: "/proc/self/task"),
      descriptors: count(inDirectory: "/proc/self/fd"))
  }

  /// Has the allocator give back to the kernel what is free.
  static func trim() { malloc_trim(0) }

  /// The lines of the form "Rss:  1234 kB".
  private static func sizes(inFile path: String) -> [String: Int] {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").reduce(into: [:]) { sizes, line in
      let parts = line.split(separator: " ")
      guard parts.count == 3, parts[2] == "kB", let kibibytes = Int(parts[1]) else { return }
      sizes[String(parts[0].dropLast())] = kibibytes * 1_024
    }
  }

  private static func count(inDirectory path: String) -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0
  }
}
