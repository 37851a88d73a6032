import Sqlable

extension Configuration {
  /// The configuration in which a command changes a file of a program: a rollback journal stays one, since the program
  /// may be unable to use a WAL.
  static func changing(_ path: String) -> Configuration {
    Configuration(label: path, busyTimeout: 60, journalMode: journalVersion(ofFileAt: path) == 1 ? .delete : .wal)
  }
}
