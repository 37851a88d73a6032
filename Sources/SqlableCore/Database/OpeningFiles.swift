extension SqliteDatabase {
  /// Opens another file read-only, with the functions and collations of this handle.
  ///
  /// - Parameter isImmutable: Whether nothing changes it: it is read without locks, and without files beside it.
  package func openFile(at path: String, isImmutable: Bool) throws -> SqliteDatabase {
    var configuration = configuration
    configuration.key = cipher?.key ?? .unencrypted
    return try SqliteDatabase.openFile(at: path, isImmutable: isImmutable, as: configuration, functions)
  }

  /// Opens a file read-only; the label, the busy timeout, the trust and the key are those of a configuration.
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
