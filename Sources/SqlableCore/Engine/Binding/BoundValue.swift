import FoundationEssentials

/// A value to pass to `sqlite3_bind_*`. The value retains no object, so that binding allocates no memory.
@usableFromInline
package enum BoundValue {
  /// No value: the statement omits the column.
  case unset
  case null
  case integer(Int64)
  case real(Double)
  case text(UnsafePointer<UInt8>, Int)
  case blob(UnsafePointer<UInt8>, Int)
  /// The values of a long IN list, which the parameter buffer owns.
  case list(Unmanaged<ValueList>)

  package var isSet: Bool {
    if case .unset = self { false } else { true }
  }

  var isInteger: Bool {
    if case .integer = self { true } else { false }
  }

  /// The bit of the storage class, for ``ColumnType/accepted``.
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
  /// A copy of a bound value; nil for an unset column and for a list.
  package init?(_ parameter: BoundValue) {
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
