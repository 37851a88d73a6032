import SqlableCore

/// A row or an index key in SQLite's record format: a header with the types of the values, then the values.
struct StoredRecord {
  /// A value: its serial type, and the range of its bytes in the payload.
  struct Field {
    let serial: Int
    let start: Int
    let end: Int

    var storage: StorageClass {
      switch serial {
      case 0: .null
      case 7: .real
      case 1...9: .integer
      default: serial.isMultiple(of: 2) ? .blob : .text
      }
    }
  }

  let payload: [UInt8]
  let fields: [Field]
  /// The number of values, including values that are missing from an incomplete payload.
  let count: Int

  /// Nil if the header is damaged, or if the values do not fill the payload exactly.
  ///
  /// - Parameter length: The complete length of the payload, in bytes. If `payload` is shorter, `fields` contains only
  ///   the values that end inside `payload`.
  init?(_ payload: [UInt8], length: Int) {
    guard let header = payload.variable(0, before: payload.count), header.value <= UInt64(length),
      header.value >= UInt64(header.end)
    else { return nil }
    let bodyStart = Int(header.value)
    var (offset, start) = (header.end, bodyStart)
    var fields: [Field] = []
    var count = 0
    while offset < bodyStart {
      guard let serial = payload.variable(offset, before: bodyStart), serial.value <= UInt64(Int32.max) * 2 + 13,
        let size = StoredRecord.size(Int(serial.value)), count < 32_767
      else { return nil }
      let end = start + size
      guard end <= length else { return nil }
      if end <= payload.count { fields.append(Field(serial: Int(serial.value), start: start, end: end)) }
      (offset, start) = (serial.end, end)
      count += 1
    }
    guard start == length, offset == bodyStart else { return nil }
    (self.payload, self.fields, self.count) = (payload, fields, count)
  }

  /// Returns the size of a value in bytes; nil for the two serial types that SQLite does not use.
  private static func size(_ serial: Int) -> Int? {
    switch serial {
    case 0, 8, 9: 0
    case 1...4: serial
    case 5: 6
    case 6, 7: 8
    case 10, 11: nil
    default: (serial - 12) / 2
    }
  }

  func integer(_ field: Field) -> Int64? {
    switch field.serial {
    case 8: return 0
    case 9: return 1
    case 1...6:
      var value: Int64 = (payload.byte(field.start) ?? 0) & 0x80 == 0 ? 0 : -1
      for offset in field.start..<field.end { value = value << 8 | Int64(payload.byte(offset) ?? 0) }
      return value
    default: return nil
    }
  }

  func real(_ field: Field) -> Double? {
    guard field.serial == 7, let high = payload.word(field.start), let low = payload.word(field.start + 4) else {
      return nil
    }
    return Double(bitPattern: UInt64(high) << 32 | UInt64(low))
  }

  func text(_ position: Int, _ encoding: TextEncoding) -> String? {
    guard position < fields.count, fields[position].storage == .text else { return nil }
    return encoding.text(payload[fields[position].start..<fields[position].end])
  }
}

/// The text encoding of a database. The raw values are the numbers in the database header.
enum TextEncoding: UInt8 {
  case utf8 = 1
  case utf16LittleEndian = 2
  case utf16BigEndian = 3

  var name: String {
    switch self {
    case .utf8: "UTF-8"
    case .utf16LittleEndian: "UTF-16le"
    case .utf16BigEndian: "UTF-16be"
    }
  }

  func text(_ bytes: ArraySlice<UInt8>) -> String {
    if self == .utf8 { return String(decoding: bytes, as: UTF8.self) }
    let high = self == .utf16BigEndian ? 0 : 1
    let units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map { offset in
      UInt16(bytes[offset + high]) << 8 | UInt16(bytes[offset + 1 - high])
    }
    return String(decoding: units, as: UTF16.self)
  }
}
