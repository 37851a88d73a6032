extension SqliteDatabase {
  /// Opens another file read-only, with the functions and collations of this handle.
  ///
  /// - Parameter isImmutable: True if no process changes the file while the handle is open. Then SQLite reads the file
  ///   without locks, and ignores the WAL and the journal beside the file.
  package func openFile(at path: String, isImmutable: Bool) throws -> SqliteDatabase {
    var configuration = configuration
    configuration.key = cipher?.key ?? .unencrypted
    return try SqliteDatabase.openFile(at: path, isImmutable: isImmutable, as: configuration, functions)
  }

  /// Opens a file read-only, with the label, busy timeout, `trustsSchema`, key and cipher of a configuration.
  package static func openFile(
    at path: String, isImmutable: Bool, as configuration: Configuration, _ functions: FunctionRegistry? = nil
  ) throws -> SqliteDatabase {
    var other = Configuration(
      label: configuration.label, isReadOnly: true, busyTimeout: configuration.busyTimeout,
      trustsSchema: configuration.trustsSchema)
    other.isImmutable = isImmutable
    (other.key, other.cipher) = (configuration.key, configuration.cipher)
    return try openOther(at: path, other, functions)
  }
}
