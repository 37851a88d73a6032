#if SQLCipher
import Foundation
import SqlableBackup
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Another program that reads and writes encrypted files.
enum CipherProgram: String, CaseIterable, CustomTestStringConvertible {
  /// The command `sqlcipher`, which `.ci/sqlcipher` installs.
  case command = "sqlcipher"
  /// Python with the package `sqlcipher3`, which `.ci/run` installs into `.build/python`.
  case python = "python3"

  var testDescription: String { rawValue }

  private static let script = """
    import sys, sqlcipher3
    db = sqlcipher3.connect(sys.argv[1], isolation_level=None)
    for line in sys.stdin:
        for row in db.execute(line):
            print("|".join(str(value) for value in row))
    """

  /// The version of the program's SQLCipher; nil if the program is missing.
  var version: String? { try? run([], ["PRAGMA cipher_version"], on: ":memory:").first }

  /// The major version, 4 or later for the settings of SQLCipher 4.
  var isAvailable: Bool { (version?.split(separator: ".").first.flatMap { Int($0) } ?? 0) >= 4 }

  /// Runs the statements of `setup`, then the others. Returns the rows of the others, and any error as the last row.
  /// If the setup fails, returns all lines of the output.
  func run(_ setup: [String], _ statements: [String], on path: String) throws -> [String] {
    let mark = "<rows>"
    var environment = ProcessInfo.processInfo.environment
    environment["PYTHONPATH"] = Repository.root.appending(path: ".build/python").path
    let process = try ChildProcess(
      rawValue, self == .python ? ["-u", "-c", CipherProgram.script, path] : ["-batch", "-bail", path],
      environment: environment, errors: .withOutput)
    let text = (setup + ["SELECT '\(mark)'"] + statements).map { $0 + ";\n" }.joined()
    try process.input.write(contentsOf: Data(text.utf8))
    try process.input.close()
    let output = String(decoding: process.output.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let lines = output.split(separator: "\n").map(String.init)
    return Array(lines[(lines.firstIndex(of: mark).map { $0 + 1 } ?? 0)...])
  }
}

/// Encrypted files of other programs, and files of the library in other programs.
@Suite struct CipherProgramTests {
  /// A key and settings, with the statements that set them in another program.
  struct Form: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let cipher: CipherSettings
    let statements: [String]
    private let isRaw: Bool
    private let hasSalt: Bool

    private static let bytes = [UInt8](100..<132)
    private static let salt = [UInt8](200..<216)

    init(_ name: String, _ cipher: CipherSettings, isRaw: Bool = false, hasSalt: Bool = false, _ pragmas: [String]) {
      (testDescription, self.cipher, self.isRaw, self.hasSalt) = (name, cipher, isRaw, hasSalt)
      let digits = (Form.bytes + (hasSalt ? Form.salt : [])).map { String(format: "%02x", $0) }.joined()
      statements = ["PRAGMA key = \(isRaw ? "\"x'\(digits)'\"" : "'correct horse'")"] + pragmas.map { "PRAGMA \($0)" }
    }

    func key() throws -> EncryptionKey {
      try isRaw ? .raw(Form.bytes, salt: hasSalt ? Form.salt : nil) : .passphrase("correct horse")
    }

    func configuration() throws -> Configuration { Configuration(key: try key(), cipher: cipher) }
  }

  static let forms = [
    Form("the defaults", CipherSettings(), []),
    Form("a raw key", CipherSettings(), isRaw: true, []),
    Form("a raw key with a salt", CipherSettings(), isRaw: true, hasSalt: true, []),
    Form("page size", CipherSettings(pageSize: 8_192), ["cipher_page_size = 8192"]),
    Form("iterations", CipherSettings(kdfIterations: 5_000), ["kdf_iter = 5000"]),
    Form(
      "digests", CipherSettings(kdfDigest: .sha256, hmacDigest: .sha1),
      ["cipher_kdf_algorithm = PBKDF2_HMAC_SHA256", "cipher_hmac_algorithm = HMAC_SHA1"]),
    Form(
      "all", CipherSettings(pageSize: 1_024, kdfIterations: 4_000, kdfDigest: .sha1, hmacDigest: .sha256),
      [
        "cipher_page_size = 1024", "kdf_iter = 4000", "cipher_kdf_algorithm = PBKDF2_HMAC_SHA1",
        "cipher_hmac_algorithm = HMAC_SHA256",
      ]),
    Form(
      "a plaintext header", CipherSettings(plaintextHeaderSize: 32), isRaw: true, hasSalt: true,
      ["cipher_plaintext_header_size = 32"]),
    Form("SQLCipher 3", CipherSettings(compatibility: .version3), ["cipher_compatibility = 3"]),
  ]

  private static let tables = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT)", "CREATE INDEX person_name ON person (name)",
    "INSERT INTO person (name) VALUES ('Anna'), ('Bo')", "CREATE VIRTUAL TABLE ft USING fts5 (title)",
    "INSERT INTO ft VALUES ('red bike')",
  ]

  @Test(
    .enabled(if: CipherProgram.command.isAvailable, "the command sqlcipher 4 is not installed; see .ci/sqlcipher"),
    arguments: forms
  ) func filesAreExchangedWithTheCommandSQLCipher(_ form: Form) throws { try exchange(form, .command) }

  @Test(
    .enabled(if: CipherProgram.python.isAvailable, "Python's package sqlcipher3 is not installed; see .ci/run"),
    arguments: forms
  ) func filesAreExchangedWithPython(_ form: Form) throws { try exchange(form, .python) }

  private func exchange(_ form: Form, _ program: CipherProgram) throws {
    try withDirectory { directory in
      let theirs = directory + "/theirs.sqlite"
      #expect(try program.run(form.statements, CipherProgramTests.tables, on: theirs).isEmpty)
      let db = try SqliteDatabase(filepath: theirs, configuration: form.configuration())
      #expect(try Person.read().run(db).map(\.name) == ["Anna", "Bo"])
      #expect(try db.query("SELECT title FROM ft WHERE ft MATCH 'red'", as: String.self) == ["red bike"])
      try Person(id: nil, name: "Cid").insert().run(db)
      try db.close()
      let read = ["SELECT name FROM person ORDER BY id", "PRAGMA integrity_check"]
      #expect(try program.run(form.statements, read, on: theirs) == ["Anna", "Bo", "Cid", "ok"])
      let other = try SqliteDatabase(filepath: theirs, configuration: form.configuration())
      try other.backup(to: directory + "/backup.sqlite")
      #expect(
        try program.run(form.statements, read, on: directory + "/backup.sqlite") == ["Anna", "Bo", "Cid", "ok"])

      for (name, make) in makers(form) {
        let ours = directory + "/\(name).sqlite"
        try make(ours)
        #expect(try program.run(form.statements, read, on: ours) == ["Anna", "Bo", "ok"], "\(name)")
        let insert = "INSERT INTO person (name) VALUES ('Dan')"
        #expect(try program.run(form.statements, [insert], on: ours).isEmpty)
        let db = try SqliteDatabase(filepath: ours, configuration: form.configuration())
        #expect(try Person.read().run(db).map(\.name) == ["Anna", "Bo", "Dan"])
        #expect(try program.run(["PRAGMA key = 'wrong'"], read, on: ours).last?.contains("not a database") == true)
      }
    }
  }

  /// The ways in which the library makes an encrypted file.
  private func makers(_ form: Form) -> [(String, (String) throws -> Void)] {
    func fill(_ db: SqliteDatabase) throws {
      try db.createTable(Person.self)
      try Person.insert(["Anna", "Bo"].map { Person(id: nil, name: $0) }).run(db)
    }
    return [
      (
        "new",
        { path in
          let db = try SqliteDatabase(filepath: path, configuration: form.configuration())
          try fill(db)
          try db.close()
        }
      ),
      (
        "exported",
        { path in
          let db = try SqliteDatabase(filepath: path + ".plain", configuration: .init(key: .unencrypted))
          try fill(db)
          try db.export(to: path, key: form.key(), cipher: form.cipher)
        }
      ),
      (
        "encrypted",
        { path in
          let db = try SqliteDatabase(
            filepath: path, configuration: .init(key: .unencrypted, cipher: form.cipher))
          try fill(db)
          try db.encrypt(with: form.key())
          try db.close()
        }
      ),
    ]
  }
}
#endif
