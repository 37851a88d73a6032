import Sqlable

extension Configuration {
  /// Returns the configuration with which a command changes a program's database. A rollback journal is not replaced by
  /// a WAL, because the program might be unable to use a WAL.
  static func changing(_ path: String) -> Configuration {
    Configuration(label: path, busyTimeout: 60, journalMode: journalVersion(ofFileAt: path) == 1 ? .delete : .wal)
  }
}
