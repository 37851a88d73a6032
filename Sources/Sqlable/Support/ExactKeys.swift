/// A key of any name, to see which there are.
struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension Decoder {
  /// The container, if it has all of these keys and no other.
  ///
  /// A key that is misspelt would else be one that is missing, and a DELETE whose filter is missing deletes every row.
  func container<Key: CodingKey & CaseIterable>(exactly keys: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try container(keyedBy: AnyKey.self).check(are: Key.allCases)
    return try container(keyedBy: keys)
  }
}

extension KeyedDecodingContainer<AnyKey> {
  /// Throws when there are other keys, or not all of these.
  func check(are keys: some Collection<some CodingKey>) throws {
    let (found, needed) = (Set(allKeys.map(\.stringValue)), keys.map(\.stringValue))
    guard found == Set(needed) else {
      throw SqlError.invalidStatement(
        "a part of the statement has other keys than \(needed.joined(separator: ", "))")
    }
  }
}
