import CSqlableSQLite

struct UserCollation: Sendable {
  let name: String
  /// The comparison of two texts: negative if the first text comes first, zero if the texts are equal, otherwise
  /// positive.
  let compare: @Sendable (String, String) -> Int
}

extension Connection {
  /// Registers or replaces a collation. Returns SQLITE_BUSY if a collation would be replaced while a statement runs.
  func register(_ collation: UserCollation) -> Int32 {
    let context = Unmanaged.passRetained(CollationContext(collation, userCode))
    let code = sqlite3_create_collation_v2(
      handle, collation.name, SQLITE_UTF8, context.toOpaque(),
      { context, leftCount, left, rightCount, right in
        guard let context else { return 0 }
        return Unmanaged<CollationContext>.fromOpaque(context).takeUnretainedValue()
          .compare(.init(start: left, count: Int(leftCount)), .init(start: right, count: Int(rightCount)))
      },
      { context in
        if let context { Unmanaged<CollationContext>.fromOpaque(context).release() }
      })
    if code == SQLITE_OK { collations[collation.name.foldedName] = collation }
    // Unlike sqlite3_create_function_v2, this call does not destroy the context when it fails.
    if code != SQLITE_OK { context.release() }
    return code
  }
}

private final class CollationContext {
  private let collation: UserCollation
  private let userCode: UserCode

  init(_ collation: UserCollation, _ userCode: UserCode) {
    self.collation = collation
    self.userCode = userCode
  }

  func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int32 {
    userCode.enter()
    defer { userCode.leave() }
    // A collation can't report an error, so invalid UTF-8 is repaired.
    let order = collation.compare(String(decoding: left, as: UTF8.self), String(decoding: right, as: UTF8.self))
    return Int32(order.signum())
  }
}
