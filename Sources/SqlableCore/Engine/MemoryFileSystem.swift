import CSqlableSQLite
import Glibc

/// The VFS of in-memory databases: SQLite's memdb for these, and the default VFS for every other file.
///
/// ATTACH and VACUUM INTO open their files through the main database's VFS, and memdb takes any name for a piece of
/// memory: they would succeed without writing a file. Connections of memdb share a database by its name. SQLite's
/// `mode=memory` does that only with a shared cache, where readers and writers lock each other out, table by table.
enum MemoryFileSystem {
  /// The name of the VFS; nil if this SQLite has no memdb.
  static let name: String? = systems?.name

  /// The name of a new database. No file has it: the default VFS gets only absolute paths. It can't be guessed, so SQL
  /// can't attach a database of another handle.
  static func newDatabaseName() -> String {
    prefix + String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
  }

  private static let prefix = "\\sqlable-memory-"

  private struct Systems: @unchecked Sendable {
    // Sound as `Sendable`: SQLite keeps a VFS for the life of the process, and nothing here changes it.
    let name: String
    let memory: UnsafeMutablePointer<sqlite3_vfs>
    let files: UnsafeMutablePointer<sqlite3_vfs>

    /// The VFS that has the file. Files without a name are SQLite's temporary ones, which stay in memory too.
    func system(of name: UnsafePointer<CChar>?) -> UnsafeMutablePointer<sqlite3_vfs> {
      guard let name, strncmp(name, MemoryFileSystem.prefix, MemoryFileSystem.prefix.utf8.count) != 0 else {
        return memory
      }
      return files
    }
  }

  private static let systems: Systems? = {
    // Looking up a VFS initializes SQLite: the memory setting must be applied before, and a VFS can be registered only
    // after.
    MemoryStatistics.settle()
    guard let files = sqlite3_vfs_find(nil), let memory = sqlite3_vfs_find("memdb") else { return nil }
    let name = "sqlable-memory"
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    // The clock, random numbers and the like of the default VFS; they do not depend on the VFS they are called through.
    vfs.initialize(to: files.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.zName = UnsafePointer(strdup(name))
    // SQLite allocates the file object before its kind is known.
    vfs.pointee.szOsFile = max(files.pointee.szOsFile, memory.pointee.szOsFile)
    vfs.pointee.xOpen = { _, name, file, flags, outFlags in
      guard let system = MemoryFileSystem.systems?.system(of: name) else { return SQLITE_CANTOPEN }
      return system.pointee.xOpen?(system, name, file, flags, outFlags) ?? SQLITE_CANTOPEN
    }
    vfs.pointee.xDelete = { _, name, syncsDirectory in
      // Memdb has nothing to delete.
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
