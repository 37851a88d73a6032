import Foundation
import Testing

/// Tests that a build without a C library's headers names the package to install.
@Suite(.enabled(if: SwiftCompiler.isAvailable, "there is no compiler, or no built library"))
struct MissingHeaderTests {
  @Test(arguments: [
    ("CSqlableSystemSQLite/system.h", "sqlite3.h is missing", "apt-get install libsqlite3-dev"),
    ("CSqlableSQLCipher/cipher.h", "sqlite3.h is missing", "apt-get install libsqlcipher-dev"),
    ("CSqlableDqlite/dqlite_node.h", "dqlite.h is missing", "apt-get install libdqlite-dev"),
  ])
  func theOnlyErrorNamesThePackage(header: String, problem: String, remedy: String) throws {
    let sources = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL.path
    let compiler = try ChildProcess(
      "clang", ["-fsyntax-only", "-x", "c", "-nostdinc", sources + "/" + header], errors: .withOutput)
    let output = String(decoding: compiler.output.readDataToEndOfFile(), as: UTF8.self)
    #expect(!compiler.waitUntilExit())
    #expect(output.contains("error: \"\(problem); install "), "\(output)")
    #expect(output.contains(remedy), "\(output)")
    #expect(output.contains("1 error generated."), "\(output)")
  }
}
