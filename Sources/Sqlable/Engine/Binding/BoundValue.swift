import FoundationEssentials

/// A value on its way to `sqlite3_bind_*`: plain bits, no reference, so that binding allocates nothing.
@usableFromInline
enum BoundValue {
  /// Nothing was set: the column is left out of the statement.
  case unset
  case null
  case integer(Int64)
  case real(Double)
  case text(UnsafePointer<UInt8>, Int)
  case blob(UnsafePointer<UInt8>, Int)
  /// The values of a long IN list, owned by the buffer.
  case list(Unmanaged<ValueList>)

  var isSet: Bool {
    if case .unset = self { false } else { true }
  }

  /// A bit for each class of values, for ``ColumnType/accepted``.
  @inlinable
  var classBit: UInt8 {
    switch self {
    case .unset, .null: 1
    case .integer: 2
    case .real: 4
    case .text: 8
    case .blob, .list: 16
    }
  }

  @usableFromInline
  var storageClass: StorageClass {
    switch self {
    case .unset, .null: .null
    case .integer: .integer
    case .real: .real
    case .text: .text
    case .blob, .list: .blob
    }
  }
}

extension DatabaseValue {
  /// The value that waits to be bound; nil for a column that is left out.
  init?(_ parameter: BoundValue) {
    switch parameter {
    case .unset, .list: return nil
    case .null: self = .null
    case .integer(let integer): self = .integer(integer)
    case .real(let real): self = .real(real)
    case .text(let start, let count):
      self = .text(String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self))
    case .blob(let start, let count): self = .blob(Data(bytes: start, count: count))
    }
  }
}
