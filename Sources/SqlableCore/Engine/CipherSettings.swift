/// The encryption settings of a file. The defaults are the defaults of SQLCipher 4.
///
/// ```swift
/// let configuration = Configuration(key: key, cipher: CipherSettings(pageSize: 8_192))
/// // PRAGMA cipher_page_size = 8192
/// ```
///
/// The settings are not stored in the file. Open a file with the settings that it was created with; otherwise opening
/// throws `.wrongKey`.
public struct CipherSettings: Sendable, Hashable {
  /// The major version of SQLCipher whose file format is used.
  public enum Compatibility: Int, Sendable, Hashable {
    case version3 = 3
    case version4 = 4
  }

  public enum Digest: String, Sendable, Hashable {
    case sha1, sha256, sha512
  }

  /// The version of SQLCipher that provides the default of each setting that is nil. Default: SQLCipher 4.
  public var compatibility: Compatibility
  /// The size of a page in bytes: a power of two from 1,024 to 65,536. Default: nil, which means 4,096, or 1,024 in
  /// version 3.
  public var pageSize: Int?
  /// The number of PBKDF2 iterations that derive a key from a passphrase. Default: nil, which means 256,000 iterations,
  /// or 64,000 in version 3. Every connection runs all iterations when the connection opens.
  public var kdfIterations: Int?
  /// The digest that derives a key. Default: nil, which means SHA-512, or SHA-1 in version 3.
  public var kdfDigest: Digest?
  /// The digest that authenticates each page. Default: nil, which means SHA-512, or SHA-1 in version 3.
  public var hmacDigest: Digest?
  /// The number of unencrypted bytes at the beginning of the file, for systems that check for SQLite's header. A
  /// multiple of 16, up to 96. Default: 0. A plaintext header replaces the salt in the file, so the key must contain a
  /// salt: `.raw(_:salt:)`.
  public var plaintextHeaderSize: Int
  /// True if SQLite locks all its memory, and overwrites memory when it is freed. Applies to every handle of the
  /// process once one handle has opened with this setting. Default: false. Memory security makes every statement
  /// slower.
  public var memorySecurity: Bool

  public init(
    compatibility: Compatibility = .version4, pageSize: Int? = nil, kdfIterations: Int? = nil, kdfDigest: Digest? = nil,
    hmacDigest: Digest? = nil, plaintextHeaderSize: Int = 0, memorySecurity: Bool = false
  ) {
    self.compatibility = compatibility
    self.pageSize = pageSize
    self.kdfIterations = kdfIterations
    self.kdfDigest = kdfDigest
    self.hmacDigest = hmacDigest
    self.plaintextHeaderSize = plaintextHeaderSize
    self.memorySecurity = memorySecurity
  }

  /// Throws `.misuse` for values that SQLCipher would ignore or change.
  package func validate() throws {
    // SQLCipher reserves up to 80 bytes of a page and SQLite needs 480, so pages of 512 bytes could not be read.
    if let pageSize, !(1_024...65_536).contains(pageSize) || pageSize & (pageSize - 1) != 0 {
      throw SqlError.misuse("the page size of an encrypted file must be a power of two from 1,024 to 65,536")
    }
    if let kdfIterations, !(1...Int(Int32.max)).contains(kdfIterations) {
      throw SqlError.misuse("the number of iterations of the key derivation must be from 1 to 2^31 - 1")
    }
    guard (0...96).contains(plaintextHeaderSize), plaintextHeaderSize.isMultiple(of: 16) else {
      throw SqlError.misuse("the size of the plaintext header must be a multiple of 16 bytes, up to 96")
    }
  }

  /// True if all settings of the file are the defaults of SQLCipher 4. Ignores `memorySecurity`.
  package var areUsual: Bool {
    var settings = self
    settings.memorySecurity = false
    return settings == CipherSettings()
  }

  /// The settings of one database of a connection, as names and values of pragmas.
  package var pragmas: [(name: String, value: String)] {
    let digest = { (digest: Digest) in digest.rawValue.uppercased() }
    return [
      compatibility == .version3 ? ("cipher_compatibility", "3") : nil,
      pageSize.map { ("cipher_page_size", "\($0)") },
      kdfIterations.map { ("kdf_iter", "\($0)") },
      kdfDigest.map { ("cipher_kdf_algorithm", "PBKDF2_HMAC_\(digest($0))") },
      hmacDigest.map { ("cipher_hmac_algorithm", "HMAC_\(digest($0))") },
      plaintextHeaderSize > 0 ? ("cipher_plaintext_header_size", "\(plaintextHeaderSize)") : nil,
      memorySecurity ? ("cipher_memory_security", "ON") : nil,
    ].compactMap { $0 }
  }
}

package struct Cipher: Sendable, Hashable {
  package let key: EncryptionKey
  package let settings: CipherSettings

  /// Nil without a key, because the file is then not encrypted.
  package init?(_ key: EncryptionKey?, _ settings: CipherSettings) {
    guard let key, key.secret != nil else { return nil }
    (self.key, self.settings) = (key, settings)
  }
}
