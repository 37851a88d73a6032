import SqlableCore

/// A checked name of a tenant, and the name of its file.
///
/// Two names never share a file, even where a file system ignores the case of letters: an uppercase letter is written
/// as `=` and the lowercase letter. No name can leave the directory, hide a file, or look like another name by another
/// form of Unicode.
package struct TenantName: Hashable, Sendable {
  /// The maximum length of `fileName` without its ending. File systems allow 255 bytes, of which SQLite and backups
  /// need some for their own endings.
  static let maximumBytes = 200
  static let ending = ".sqlite"
  /// The number of directories over which the files are spread.
  static let directories = 256

  package let text: String

  /// Throws `.tenant(.invalidName)` for a name that is empty, too long, or contains a character other than ASCII
  /// letters, digits and `-_.@+`. A name begins with a letter, a digit or `_`.
  package init(_ text: String) throws {
    self.text = text
    guard let first = text.utf8.first else { throw TenantName.invalid("the name of a tenant can't be empty") }
    guard text.utf8.allSatisfy(TenantName.isAllowed) else {
      throw TenantName.invalid(
        "the name of a tenant can only have ASCII letters, digits, and the characters - _ . @ +")
    }
    guard first != UInt8(ascii: "."), first != UInt8(ascii: "-"), first != UInt8(ascii: "@"),
      first != UInt8(ascii: "+")
    else { throw TenantName.invalid("the name of a tenant must begin with a letter, a digit or _") }
    guard text.utf8.reduce(0, { $0 + (TenantName.isUppercase($1) ? 2 : 1) }) <= TenantName.maximumBytes else {
      throw TenantName.invalid(
        "the name of a tenant can have at most \(TenantName.maximumBytes) bytes; an uppercase letter counts twice")
    }
  }

  /// Decodes the name of a file; nil for a file that is not a tenant's database.
  init?(fileName: String) {
    guard fileName.hasSuffix(TenantName.ending) else { return nil }
    var bytes: [UInt8] = []
    var isUppercase = false
    for byte in fileName.utf8.dropLast(TenantName.ending.utf8.count) {
      if byte == UInt8(ascii: "="), !isUppercase {
        isUppercase = true
        continue
      }
      bytes.append(isUppercase ? byte & ~0x20 : byte)
      isUppercase = false
    }
    guard let name = try? TenantName(String(decoding: bytes, as: UTF8.self)), name.fileName == fileName else {
      return nil
    }
    self = name
  }

  var fileName: String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if TenantName.isUppercase(byte) { bytes.append(UInt8(ascii: "=")) }
      bytes.append(TenantName.isUppercase(byte) ? byte | 0x20 : byte)
    }
    return String(decoding: bytes, as: UTF8.self) + TenantName.ending
  }

  /// The index of the file's directory: the FNV-1a hash of the file's name. With another hash, existing files would not
  /// be found.
  var directory: Int {
    let hash = fileName.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return Int((hash ^ hash >> 32) % UInt64(TenantName.directories))
  }

  private static func isUppercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
      UInt8(ascii: "@"), UInt8(ascii: "+"):
      true
    default: false
    }
  }

  // The message omits the name, because the name can be a user's input.
  private static func invalid(_ message: String) -> SqlError { SqlError(.tenant(.invalidName), message: message) }
}
