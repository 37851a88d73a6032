import CSqlableSQLite
import Glibc

/// A VFS that stores in-memory databases with SQLite's memdb, and all other files with the default VFS.
///
/// ATTACH and VACUUM INTO open their files through the main database's VFS. With memdb alone, these statements would
/// store the data in memory and succeed without writing a file. Connections of memdb share a database by its name.
/// SQLite's `mode=memory` can share a database only with a shared cache, in which readers and writers of a table block
/// each other.
enum MemoryFileSystem {
  /// The name of the VFS; nil if this SQLite was built without memdb.
  static let name: String? = systems?.name

  /// Returns the name of a new database. The name never matches a file, because the default VFS uses only absolute
  /// paths. The name can't be guessed, so SQL can't attach the database of another handle.
  static func newDatabaseName() -> String {
    prefix + String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
  }

  private static let prefix = "\\sqlable-memory-"

  private struct Systems: @unchecked Sendable {
    // `@unchecked Sendable` is sound: a VFS exists until the process ends, and this code never changes a VFS.
    let name: String
    let memory: UnsafeMutablePointer<sqlite3_vfs>
    let files: UnsafeMutablePointer<sqlite3_vfs>

    /// Returns the VFS that stores the file. A file without a name is temporary, and stored in memory too.
    func system(of name: UnsafePointer<CChar>?) -> UnsafeMutablePointer<sqlite3_vfs> {
      guard let name, strncmp(name, MemoryFileSystem.prefix, MemoryFileSystem.prefix.utf8.count) != 0 else {
        return memory
      }
      return files
    }
  }

  private static let systems: Systems? = {
    // Settle the memory setting before the first lookup of a VFS. The lookup initializes SQLite, and then the setting
    // can't change.
    MemoryStatistics.settle()
    guard let files = sqlite3_vfs_find(nil), let memory = sqlite3_vfs_find("memdb") else { return nil }
    let name = "sqlable-memory"
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    // Copy the default VFS. Its functions that are not replaced below, such as the clock, do not depend on the VFS
    // argument.
    vfs.initialize(to: files.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.zName = UnsafePointer(strdup(name))
    // SQLite allocates the file object before `xOpen` selects one of the two file systems, so the larger size is
    // required.
    vfs.pointee.szOsFile = max(files.pointee.szOsFile, memory.pointee.szOsFile)
    vfs.pointee.xOpen = { _, name, file, flags, outFlags in
      guard let system = MemoryFileSystem.systems?.system(of: name) else { return SQLITE_CANTOPEN }
      return system.pointee.xOpen?(system, name, file, flags, outFlags) ?? SQLITE_CANTOPEN
    }
    vfs.pointee.xDelete = { _, name, syncsDirectory in
      // Memdb has no files to delete.
      guard let systems = MemoryFileSystem.systems, systems.system(of: name) == systems.files else { return SQLITE_OK }
      return systems.files.pointee.xDelete?(systems.files, name, syncsDirectory) ?? SQLITE_IOERR
    }
    vfs.pointee.xAccess = { _, name, flags, result in
      guard let system = MemoryFileSystem.systems?.system(of: name) else { return SQLITE_IOERR }
      return system.pointee.xAccess?(system, name, flags, result) ?? SQLITE_IOERR
    }
    vfs.pointee.xFullPathname = { _, name, count, path in
      guard let system = MemoryFileSystem.systems?.system(of: name) else { return SQLITE_CANTOPEN }
      return system.pointee.xFullPathname?(system, name, count, path) ?? SQLITE_CANTOPEN
    }
    guard sqlite3_vfs_register(vfs, 0) == SQLITE_OK else { return nil }
    return Systems(name: name, memory: memory, files: files)
  }()
}
