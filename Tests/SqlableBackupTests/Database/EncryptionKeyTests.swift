import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTestSupport

@Suite struct EncryptionKeyTests {
  private static let secret = "correct horse battery"

  @Test func descriptionsAndMirrorsHideTheKey() throws {
    let key = try EncryptionKey.passphrase(EncryptionKeyTests.secret)
    let raw = try EncryptionKey.raw([UInt8](repeating: 0x5A, count: 32))
    #expect("\(key)" == "key")
    #expect(String(reflecting: key) == "key")
    #expect(Mirror(reflecting: key).children.isEmpty)
    var text = ""
    dump(Configuration(key: key, attachedKeys: ["old": raw]), to: &text)
    #expect(!text.contains("horse"))
    #expect(!text.contains("5a5a"))
    #expect(!text.contains("90"))
    #expect(!"\(Configuration(key: key))".contains("horse"))
    #expect(!(EncryptionKey.self is any Encodable.Type))
  }

  @Test func keysAreEqualIfTheirBytesAre() throws {
    let key = try EncryptionKey.passphrase(EncryptionKeyTests.secret)
    #expect(try key == .passphrase(Array(EncryptionKeyTests.secret.utf8)))
    for text in [EncryptionKeyTests.secret + "!", "correct horse batterz"] { #expect(try key != .passphrase(text)) }
    #expect(key != .unencrypted)
    #expect(EncryptionKey.unencrypted == .unencrypted)
    #expect(try Set([key, .passphrase(EncryptionKeyTests.secret), .passphrase("other")]).count == 2)
  }

  @Test func aKeyOfTheWrongSizeIsRefused() {
    for bytes in [0, 16, 31, 33] {
      #expect(sqlError { _ = try EncryptionKey.raw([UInt8](repeating: 1, count: bytes)) }?.kindIsMisuse == true)
    }
    let key = [UInt8](repeating: 1, count: 32)
    #expect(sqlError { _ = try EncryptionKey.raw(key, salt: [1, 2]) }?.kindIsMisuse == true)
    #expect(sqlError { _ = try EncryptionKey.passphrase("") }?.kindIsMisuse == true)
  }

  @Test func rawFileTakesBytesAndHexadecimalDigits() throws {
    try withDirectory { directory in
      let path = directory + "/key"
      func key(_ bytes: [UInt8]) throws -> EncryptionKey {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return try .rawFile(path)
      }
      let (raw, salt) = ([UInt8](0..<32), [UInt8](160..<176))
      let (digits, saltDigits) = (hexadecimal(raw), hexadecimal(salt))
      for (bytes, expected) in try [
        (raw, EncryptionKey.raw(raw)),
        (raw + salt, .raw(raw, salt: salt)),
        (Array(digits.utf8), .raw(raw)),
        (Array((digits + "\n").utf8), .raw(raw)),
        (Array((digits + saltDigits).utf8), .raw(raw, salt: salt)),
        (Array((digits + saltDigits.uppercased() + "\n").utf8), .raw(raw, salt: salt)),
      ] {
        let found = try key(bytes)
        #expect(found == expected)
      }
      let digitsWithBlank = " " + digits.dropFirst()
      for wrong in ["", "\n", "horse", digits + "0", digitsWithBlank, "x'\(digits)'", digits + "\n\n"] {
        #expect(sqlError { _ = try key(Array(wrong.utf8)) }?.kindIsMisuse == true, "\(wrong)")
      }
      let error = sqlError { _ = try EncryptionKey.rawFile(directory + "/none") }
      #expect(error?.kind == .cannotOpen)
      #expect(error?.message.contains("/none") == true)
      #expect(sqlError { _ = try EncryptionKey.rawFile(directory) }?.kind == .io)
    }
  }

  @Test func aKeyFileWithoutReadPermissionCannotBeOpened() throws {
    try withDirectory { directory in
      let path = directory + "/key"
      try Data(count: 32).write(to: URL(filePath: path))
      #expect(chmod(path, 0) == 0)
      // An administrator reads any file, so this thread opens files as another user.
      let openFiles = unsafeBitCast(dlsym(nil, "setfsuid"), to: (@convention(c) (UInt32) -> Int32).self)
      _ = openFiles(65_534)
      defer { _ = openFiles(geteuid()) }
      #expect(sqlError { _ = try EncryptionKey.rawFile(path) }?.kind == .cannotOpen)
      #expect(sqlError { _ = try EncryptionKey.passphraseFile(path) }?.kind == .cannotOpen)
    }
  }

  @Test func passphraseFileTakesAnyLengthAndDropsOneNewline() throws {
    try withDirectory { directory in
      let path = directory + "/key"
      func key(_ text: String) throws -> EncryptionKey {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return try .passphraseFile(path)
      }
      let (short, long) = (String(repeating: "p", count: 32), String(repeating: "0", count: 64))
      for (text, passphrase) in [
        ("horse\n", "horse"),
        ("horse\n\n", "horse\n"),
        (short, short),
        (long, long),
        (long + "\n", long),
      ] {
        let found = try key(text)
        let expected = try EncryptionKey.passphrase(passphrase)
        #expect(found == expected)
      }
      for wrong in ["", "\n", "x'\(long)'", "x'\(long)'\n"] {
        #expect(sqlError { _ = try key(wrong) }?.kindIsMisuse == true, "\(wrong)")
      }
      #expect(sqlError { _ = try EncryptionKey.passphraseFile(directory + "/none") }?.kind == .cannotOpen)
    }
  }

  @Test func aPassphraseInTheNotationOfARawKeyIsRefused() {
    let digits = String(repeating: "a", count: 64)
    let message = "a passphrase can't have the form x'…', SQLCipher's notation of a raw key; use raw(_:salt:)"
    for text in ["x'\(digits)'", "X'\(digits)'", "x''", "x'no digits'"] {
      #expect(sqlError { _ = try EncryptionKey.passphrase(text) }?.message == message)
    }
    for text in ["x", "x'", "'x'", "ax''"] {
      #expect(sqlError { _ = try EncryptionKey.passphrase(text) } == nil, "\(text)")
    }
  }

  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The kernel's flags and the kilobytes of each memory mapping of this process. Some kernels report few flags.
  private static func memory() -> [(flags: String, size: Int)] {
    // String(contentsOfFile:) reads only the beginning, because the file reports no size.
    let data = FileHandle(forReadingAtPath: "/proc/self/smaps")?.readDataToEndOfFile() ?? Data()
    var (mappings, size): ([(flags: String, size: Int)], Int) = ([], 0)
    for line in String(decoding: data, as: UTF8.self).split(separator: "\n") {
      if line.hasPrefix("Size:") { size = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0 }
      if line.hasPrefix("VmFlags:") { mappings.append((flags: "\(line) ", size: size)) }
    }
    return mappings
  }

  @Test(
    .enabled(if: memory().contains { $0.flags.contains(" rd ") }, "the kernel does not report the flags of memory"),
    .disabled(if: isSanitized, "the sanitizers replace mlock by a function that does nothing")
  )
  func theMemoryOfAKeyIsLockedAndLeftOutOfCoreDumps() throws {
    // The size, because the kernel merges adjacent mappings.
    func protected() -> Int {
      EncryptionKeyTests.memory().filter { $0.flags.contains(" dd ") && $0.flags.contains(" lo ") }
        .reduce(0) { $0 + $1.size }
    }
    let before = protected()
    // Other tests create and release keys at the same time, so one key is not enough.
    let keys = try (0..<100).map { try EncryptionKey.passphrase("\($0)") }
    withExtendedLifetime(keys) { #expect(protected() >= before + 16) }
  }

  @Test func aPageOfAnEncryptedFileHasAtLeast1024Bytes() throws {
    try withDirectory { directory in
      let key = try EncryptionKey.raw([UInt8](0..<32))
      for compatibility in [CipherSettings.Compatibility.version3, .version4] {
        let cipher = CipherSettings(compatibility: compatibility, pageSize: 512)
        let error = sqlError {
          _ = try SqliteDatabase(
            filepath: directory + "/a.sqlite", configuration: Configuration(key: key, cipher: cipher))
        }
        #expect(error?.message == "the page size of an encrypted file must be a power of two from 1,024 to 65,536")
      }
    }
  }

  @Test func invalidCipherSettingsAreRefused() throws {
    try withDirectory { directory in
      let key = try EncryptionKey.raw([UInt8](0..<32))
      for cipher in [
        CipherSettings(pageSize: 1_000),
        CipherSettings(pageSize: 131_072),
        CipherSettings(kdfIterations: 0),
        CipherSettings(plaintextHeaderSize: 20),
        CipherSettings(plaintextHeaderSize: 32),
      ] {
        let error = sqlError {
          _ = try SqliteDatabase(
            filepath: directory + "/a.sqlite", configuration: Configuration(key: key, cipher: cipher))
        }
        #expect(error?.kindIsMisuse == true, "\(cipher)")
      }
      let error = sqlError {
        _ = try SqliteDatabase(
          filepath: directory + "/a.sqlite", configuration: Configuration(attachedKeys: ["old": key]))
      }
      #expect(error?.message == "attachedKeys has a key for old, but no attached database has this name")
      #expect(files(in: directory).isEmpty)
    }
  }

  #if !SQLCipher
  @Test func aKeyIsRefusedWithoutTheSQLCipherTrait() throws {
    try withDirectory { directory in
      let (path, key) = (directory + "/a.sqlite", try EncryptionKey.passphrase("horse"))
      let message = "an encryption key needs a library built with the package trait SQLCipher"
      let error = sqlError { _ = try SqliteDatabase(filepath: path, configuration: Configuration(key: key)) }
      #expect(error?.kind == .misuse(message))
      #expect(files(in: directory).isEmpty)
      try withDatabase { db in
        #expect(sqlError { try db.export(to: path, key: key) }?.kind == .misuse(message))
        #expect(sqlError { try db.rekey(to: key) }?.kindIsMisuse == true)
        #expect(sqlError { try db.encrypt(with: key) }?.kind == .misuse(message))
        let pool = try SqlitePool(filepath: path)
        #expect(sqlError { try pool.encrypt(with: key) }?.kind == .misuse(message))
        try pool.close()
      }
    }
  }
  #endif
}
