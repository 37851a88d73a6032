import CSqlableSQLite
import FoundationEssentials

/// An extension of SQLite in a shared library, which every connection of a configuration loads.
///
/// ```swift
/// let configuration = Configuration(extensions: [LoadableExtension(path: "/usr/lib/sqlite3/pcre.so")])
/// ```
///
/// It is code that runs in the process with all its rights: load what you trust. SQL can't load extensions:
/// `load_extension()` stays off.
public struct LoadableExtension: Sendable, Hashable {
  /// The shared library. A name without a slash is searched for as the system's linker does.
  public var path: String
  /// The function that sets it up. Default: nil, `sqlite3_extension_init`, or the one that SQLite makes of the file's
  /// name: `sqlite3_pcre_init`.
  public var entryPoint: String?

  public init(path: String, entryPoint: String? = nil) { (self.path, self.entryPoint) = (path, entryPoint) }

  /// Throws `.misuse` for a name that no file or function can have.
  func validate() throws {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SqlError.misuse("the path of an extension can't be empty or contain a NUL byte")
    }
    guard entryPoint.map({ !$0.isEmpty && !$0.utf8.contains(0) }) ?? true else {
      throw SqlError.misuse("the entry point of the extension \(path) can't be empty or contain a NUL byte")
    }
  }

  /// The same with an absolute path, which keeps its meaning if the working directory changes.
  var withAbsolutePath: LoadableExtension {
    guard path.utf8.contains(UInt8(ascii: "/")), !path.begins(with: "/") else { return self }
    return LoadableExtension(path: FileManager.default.currentDirectoryPath + "/" + path, entryPoint: entryPoint)
  }
}

extension Connection {
  /// Loads an extension. Throws `.cannotOpen` if there is none that this SQLite can load.
  func load(_ item: LoadableExtension) throws {
    // The C function alone: the SQL function stays off.
    try setFlag(SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, true)
    defer { try? setFlag(SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, false) }
    var text: UnsafeMutablePointer<CChar>?
    let code = sqlite3_load_extension(handle, item.path, item.entryPoint, &text)
    defer { sqlite3_free(text) }
    guard code != SQLITE_OK else { return }
    let reason = text.map { String(cString: $0) } ?? "SQLite gave no reason"
    throw SqlError(
      .cannotOpen, message: "can't load the extension \(item.path): \(reason)", code: Int(code & 0xFF),
      extendedCode: Int(code), label: label)
  }
}
