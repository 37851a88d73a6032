import Sqlable

extension Configuration {
  /// Returns the configuration for a command that changes a program's database. A file with a rollback journal stays in
  /// this mode, because the program might be unable to use WAL mode.
  static func changing(_ path: String) -> Configuration {
    Configuration(label: path, busyTimeout: 60, journalMode: journalVersion(ofFileAt: path) == 1 ? .delete : .wal)
  }
}
