/// A coding key with any name, for reading all keys of a container.
struct AnyKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
  init(intValue: Int) { (stringValue, self.intValue) = ("\(intValue)", intValue) }
}

extension Decoder {
  /// Returns the container if it has exactly these keys; throws `.invalidStatement` otherwise.
  ///
  /// Without this check, a misspelt key would be treated as missing, and a DELETE with a missing filter deletes every
  /// row.
  package func container<Key: CodingKey & CaseIterable>(exactly keys: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try container(keyedBy: AnyKey.self).check(are: Key.allCases)
    return try container(keyedBy: keys)
  }
}

extension KeyedDecodingContainer<AnyKey> {
  func check(are keys: some Collection<some CodingKey>) throws {
    let (actual, needed) = (Set(allKeys.map(\.stringValue)), keys.map(\.stringValue))
    guard actual == Set(needed) else {
      throw SqlError.invalidStatement(
        "an object in the statement must have exactly the keys \(needed.joined(separator: ", "))")
    }
  }
}
