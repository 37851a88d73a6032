@usableFromInline
package struct CallSite: Sendable, CustomStringConvertible {
  let file: StaticString
  let line: UInt

  @usableFromInline
  package init(file: StaticString, line: UInt) { (self.file, self.line) = (file, line) }

  @usableFromInline package var description: String { "\(file):\(line)" }

  static let modules: Set = [
    "Sqlable", "SqlableAdvice", "SqlableBackup", "SqlableChanges", "SqlableCluster", "SqlableCodable", "SqlableCore",
    "SqlableDocuments", "SqlableIntegrations", "SqlablePolicies", "SqlablePool", "SqlableQueries", "SqlableRecovery",
    "SqlableSchema", "SqlableSealing", "SqlableTenants", "SqlableTracing",
  ]

  /// True if the call site is inside the library. Such a call site is useless for the application's developer.
  package var isInLibrary: Bool {
    file.withUTF8Buffer { path in
      path.starts(with: "Sqlable".utf8)
        && CallSite.modules.contains(String(decoding: path.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self))
    }
  }
}
