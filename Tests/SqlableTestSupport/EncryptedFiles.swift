import Foundation
import SqlableCore
import Testing

/// True if the suites run on encrypted files: with the trait SQLCipher, and a raw key of 64 hexadecimal digits in
/// `SQLABLE_KEY`. Every configuration without a key then has this one.
let isEncrypted = Configuration().key != nil

/// The error of a file that is not a database.
let noDatabase: SqlError.Kind = isEncrypted ? .wrongKey : .notADatabase

extension Trait where Self == ConditionTrait {
  /// Skips the test if the suites run on encrypted files: `@Test(.needsPlainFiles("a salvage reads pages"))`.
  static func needsPlainFiles(_ reason: Comment) -> Self { .disabled(if: isEncrypted, reason) }
}

/// Returns whether a file contains the bytes of a text.
func file(_ path: String, contains text: String) throws -> Bool {
  try Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data(text.utf8)) != nil
}
