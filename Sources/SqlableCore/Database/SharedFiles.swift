// Lookup of open handles by path and label, and the damage mark that all handle families on the same file share.

extension SqliteDatabase {
  /// Returns the open handles of this process on the file at a path, in the order in which they were opened.
  ///
  /// ```swift
  /// let db = SqliteDatabase.handles(at: path).first
  /// ```
  ///
  /// Finds every handle whose path leads to the same file, also by a relative path, a symbolic link or a hard link.
  /// Includes children, and handles that open the file at their next use. Excludes the handles of pools; see
  /// `SqlitePool.pools(at:)`. A handle is found only while the program retains the handle. Never waits for a handle,
  /// and never opens a file.
  public static func handles(at path: String) -> [SqliteDatabase] {
    HandleFamily.listed.filter { $0.isAt(path) }.flatMap(\.openMembers)
  }

  /// Returns the open handles of this process with a label, in the order in which they were opened.
  ///
  /// ```swift
  /// let main = SqliteDatabase.handles(labelled: "main")     // Configuration(label: "main")
  /// ```
  ///
  /// Includes children and databases in memory, and excludes the handles of pools.
  public static func handles(labelled label: String) -> [SqliteDatabase] {
    HandleFamily.listed.flatMap(\.openMembers).filter { $0.configuration.label == label }
  }
}

extension HandleFamily {
  fileprivate static var listed: [HandleFamily] { families.filter(\.isListed) }

  /// The family's open handles, without the children that only the library uses.
  fileprivate var openMembers: [SqliteDatabase] {
    members.filter { $0.isOpen && (!$0.isChild || $0.isListed.load(ordering: .acquiring)) }
  }

  package func isAt(_ path: String) -> Bool {
    let file = self.path
    return !file.isEmpty && SqliteDatabase.isSameFile(path, file)
  }

  // MARK: Damage

  /// True if this family shares reports of damage with the other families of the file. The family must be connected,
  /// and the program or a pool must have opened it. A family that the library opens, for example for a backup, shares
  /// no reports.
  private var sharesDamage: Bool { isConnected && (isListed || pool != nil) }

  func didFindDamage(_ error: SqlError) {
    if corruption.receive(error, on: FileIdentity(path)) { shareDamage() }
  }

  /// Marks the file as damaged for the other families, if this family has found damage.
  func shareDamage() {
    guard let error = corruption.first, let file = corruption.file, sharesDamage else { return }
    for family in HandleFamily.families where family !== self && family.sharesDamage {
      if FileIdentity(family.path) == file { _ = family.corruption.receive(error, on: file) }
    }
  }

  func adoptDamage() {
    // Without this check, opening a handle would visit all families of the process, which can be thousands.
    guard CorruptionMark.hasBeenSet else { return }
    for family in HandleFamily.families where family !== self && family.corruption.isMarked {
      guard sharesDamage, family.sharesDamage, let error = family.corruption.first, let file = family.corruption.file,
        FileIdentity(path) == file
      else { continue }
      _ = corruption.receive(error, on: file)
      return
    }
  }

  /// Removes the mark of damage from all families of handles that this process has opened on the file.
  package func forgetDamage() {
    corruption.clear()
    for family in HandleFamily.families where family.corruption.isMarked && family.isAt(path) {
      family.corruption.clear()
    }
  }
}
