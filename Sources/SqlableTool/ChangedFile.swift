import Foundation
import Sqlable

extension Configuration {
  /// The configuration in which a command changes a file of a program: a rollback journal stays one, since the program
  /// may be unable to use a WAL.
  static func changing(_ path: String) -> Configuration {
    Configuration(label: path, busyTimeout: 60, journalMode: hasRollbackJournal(path) ? .delete : .wal)
  }

  /// Whether the header's write version, byte 18, is that of a rollback journal.
  private static func hasRollbackJournal(_ path: String) -> Bool {
    guard let file = FileHandle(forReadingAtPath: path) else { return false }
    defer { try? file.close() }
    guard let header = try? file.read(upToCount: 20), header.count == 20 else { return false }
    return header.starts(with: Data("SQLite format 3\0".utf8)) && header[18] == 1
  }
}
