import CSqlableSQLite
import Glibc

/// The file system of databases in memory: SQLite's memdb for those, and the default one for every other file.
///
/// ATTACH and VACUUM INTO open their files by way of the main database's file system, and memdb takes any name for a
/// piece of memory: they would succeed and write no file. Memdb's own connections share a database by its name, which
/// SQLite's `mode=memory` does only with a shared cache, where readers and writers lock one another out table by table.
enum MemoryFileSystem {
  /// What it is called; nil where this SQLite has no memdb.
  static let name: String? = systems?.name

  /// The name of a new database. No file has it: the default file system is asked by absolute paths only. It can't be
  /// guessed, so that no SQL attaches what belongs to another handle.
  static func newDatabaseName() -> String {
    prefix + String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
  }

  private static let prefix = "\\sqlable-memory-"

  private struct Systems: @unchecked Sendable {
    // Sound as `Sendable`: SQLite keeps file systems for as long as the process lives, and nothing here changes them.
    let name: String
    let memory: UnsafeMutablePointer<sqlite3_vfs>
    let files: UnsafeMutablePointer<sqlite3_vfs>

    /// Which one has the file. Files without a name are SQLite's temporary ones, which stay in memory too.
    func system(of name: UnsafePointer<CChar>?) -> UnsafeMutablePointer<sqlite3_vfs> {
      guard let name, strncmp(name, MemoryFileSystem.prefix, MemoryFileSystem.prefix.utf8.count) != 0 else {
        return memory
      }
      return files
    }
  }

  private static let systems: Systems? = {
    // Looking for one initializes SQLite, which has to come before anything is registered.
    MemoryStatistics.settle()
    guard let files = sqlite3_vfs_find(nil), let memory = sqlite3_vfs_find("memdb") else { return nil }
    let name = "sqlable-memory"
    let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    // The default one's clock, random numbers and the like, none of which cares whom it is called for.
    own.initialize(to: files.pointee)
    own.pointee.pNext = nil
    own.pointee.zName = UnsafePointer(strdup(name))
    // SQLite makes room for a file before it is known of which kind it is.
    own.pointee.szOsFile = max(files.pointee.szOsFile, memory.pointee.szOsFile)
    own.pointee.xOpen = { _, name, file, flags, outFlags in
      guard let system = MemoryFileSystem.systems?.system(of: name) else { return SQLITE_CANTOPEN }
      return system.pointee.xOpen?(system, name, file, flags, outFlags) ?? SQLITE_CANTOPEN
    }
    own.pointee.xDelete = { _, name, syncsDirectory in
      // Memdb has nothing to delete.
      guard let systems = MemoryFileSystem.systems, systems.system(of: name) == systems.files else { return SQLITE_OK }
      return systems.files.pointee.xDelete?(systems.files, name, syncsDirectory) ?? SQLITE_IOERR
    }
    own.pointee.xAccess = { _, name, flags, result in
      guard let system = MemoryFileSystem.systems?.system(of: name) else { return SQLITE_IOERR }
      return system.pointee.xAccess?(system, name, flags, result) ?? SQLITE_IOERR
    }
    own.pointee.xFullPathname = { _, name, count, path in
      guard let system = MemoryFileSystem.systems?.system(of: name) else { return SQLITE_CANTOPEN }
      return system.pointee.xFullPathname?(system, name, count, path) ?? SQLITE_CANTOPEN
    }
    guard sqlite3_vfs_register(own, 0) == SQLITE_OK else { return nil }
    return Systems(name: name, memory: memory, files: files)
  }()
}
