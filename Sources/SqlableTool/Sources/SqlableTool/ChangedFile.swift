import Sqlable

extension Configuration {
  /// Returns the configuration for changing a program's database. The program might not be able to use a WAL.
  static func changing(_ path: String) -> Configuration {
    Configuration(label: path, busyTimeout: 60, journalMode: journalVersion(ofFileAt: path) == 1 ? .delete : .wal)
  }
}
