import Glibc
import SqlableCore

/// The inodes, sizes and times of a tenant's file and WAL, read without opening a file. Every commit changes the state.
///
/// A commit writes to the WAL or to the file, and so changes a time, at the precision of the kernel's clock. A
/// checkpoint changes the times, too, so the state can change although the rows stay the same.
struct TenantFileState: Equatable {
  /// The inodes, sizes and times of the last changes of the file and of a WAL or journal that is not empty.
  private let numbers: [Int]
  /// The time of the last change, in seconds.
  private let seconds: Int
  /// True if a WAL or journal exists beside the file.
  private let hasWAL: Bool

  /// The precision of a file's times, in seconds. Two changes that are further apart are assumed to get different
  /// times.
  private static let precision = 2

  /// Returns nil if the file does not exist.
  init?(_ path: String) {
    guard let file = FileIdentity.info(path), file.isRegular else { return nil }
    let logs = ["-wal", "-journal"].map { FileIdentity.linkInfo(path + $0) }
    // An empty WAL does not count, because opening a tenant creates one.
    let infos = [file] + logs.compactMap { $0.flatMap { $0.st_size > 0 ? $0 : nil } }
    // The ctime of a WAL is not used: if the user root opens a WAL, SQLite sets the WAL's owner, which changes the
    // ctime.
    let times = infos.map(\.st_mtim) + [file.st_ctim]
    let sizes = infos.flatMap { [Int(truncatingIfNeeded: $0.st_ino), Int($0.st_size)] }
    numbers = sizes + times.flatMap { [$0.tv_sec, $0.tv_nsec] }
    seconds = times.map(\.tv_sec).max() ?? 0
    hasWAL = logs.contains { $0 != nil }
  }

  /// True if the last change is old enough that every later commit changes the state. Two commits in quick succession
  /// can leave the same modification time.
  var isSettled: Bool { seconds < time(nil) - TenantFileState.precision }

  /// True if no connection has the file open in WAL mode, and if every write from now on will change the state.
  var isQuiet: Bool { isSettled && !hasWAL }

  /// A hash of the state (FNV-1a), for the name of a backup.
  var mark: String {
    var hash = 0xcbf2_9ce4_8422_2325 as UInt64
    for number in numbers {
      withUnsafeBytes(of: number.littleEndian) { bytes in
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
      }
    }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  static func == (left: TenantFileState, right: TenantFileState) -> Bool {
    left.numbers == right.numbers && left.hasWAL == right.hasWAL
  }
}
