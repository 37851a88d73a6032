import CSqlableSQLite
import FoundationEssentials

/// An SQLite extension in a shared library. Every connection whose configuration contains the extension loads it.
///
/// ```swift
/// let configuration = Configuration(extensions: [LoadableExtension(path: "/usr/lib/sqlite3/pcre.so")])
/// ```
///
/// Load only extensions that you trust, because an extension's code runs with all rights of the process. SQL can't load
/// extensions, because `load_extension()` remains disabled.
public struct LoadableExtension: Sendable, Hashable {
  /// The path of the shared library. If the path contains no slash, the system's dynamic linker searches for the
  /// library.
  public var path: String
  /// The function that initializes the extension. Default: nil, which means `sqlite3_extension_init`, or a function
  /// named after the file, such as `sqlite3_pcre_init`.
  public var entryPoint: String?

  public init(path: String, entryPoint: String? = nil) { (self.path, self.entryPoint) = (path, entryPoint) }

  func validate() throws {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SqlError.misuse("the path of an extension can't be empty or contain a NUL byte")
    }
    guard entryPoint.map({ !$0.isEmpty && !$0.utf8.contains(0) }) ?? true else {
      throw SqlError.misuse("the entry point of the extension \(path) can't be empty or contain a NUL byte")
    }
  }

  var withAbsolutePath: LoadableExtension {
    guard path.utf8.contains(UInt8(ascii: "/")), !path.begins(with: "/") else { return self }
    return LoadableExtension(path: FileManager.default.currentDirectoryPath + "/" + path, entryPoint: entryPoint)
  }
}

extension Connection {
  /// Loads an extension. Throws `.cannotOpen` if this SQLite can't load the extension.
  func load(_ item: LoadableExtension) throws {
    // Enables only the C function. The SQL function `load_extension()` remains disabled.
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
