@usableFromInline
protocol PreparedValues {
  func bind(with binder: PreparedBinder) throws
}

@usableFromInline
struct PositionedValues<each Value: SqlValue>: PreparedValues {
  @usableFromInline let values: (repeat each Value)

  @inlinable
  init(_ value: repeat each Value) { values = (repeat each value) }

  @inlinable
  func bind(with binder: PreparedBinder) throws {
    var count = 0
    for value in repeat each values {
      try binder.bind(value, toPosition: count)
      count += 1
    }
    try binder.check(count: count)
  }
}

@usableFromInline
struct NamedValues: PreparedValues {
  private let values: KeyValuePairs<String, any SqlValue>

  init(_ values: KeyValuePairs<String, any SqlValue>) { self.values = values }

  @usableFromInline
  func bind(with binder: PreparedBinder) throws {
    var isGiven = Array(repeating: false, count: binder.core.names.count)
    for (name, value) in values {
      guard let number = binder.core.names.firstIndex(of: name) else {
        throw SqlError.misuse("the prepared statement has no parameter \(name)")
      }
      guard !isGiven[number] else { throw SqlError.misuse("parameter \(name) has two values") }
      isGiven[number] = true
      try binder.bind(value, toParameter: number)
    }
    if let missing = isGiven.firstIndex(of: false) {
      throw SqlError.misuse("parameter \(binder.core.names[missing]) has no value")
    }
  }
}

/// Binds the values of one run. The values stay valid until the run ends.
@usableFromInline
struct PreparedBinder {
  let core: PreparedCore
  let statement: PreparedStatement
  let parameters: ParameterBuffer

  @inlinable
  func bind<Value: SqlValue>(_ value: Value, toPosition number: Int) throws {
    if Value.self == Int.self, try bind(integer: identical(value), toParameter: number) { return }
    if Value.self == Bool.self, try bind(flag: identical(value), toParameter: number) { return }
    try bindAny(value, toPosition: number)
  }

  @usableFromInline
  func bindAny<Value: SqlValue>(_ value: Value, toPosition number: Int) throws {
    // A dictionary literal gives values by name, but a dictionary in a variable is one value, which binds as JSON.
    // Throw if a key of such a dictionary is the name of a parameter.
    if case .text(let start, let count) = try bind(value, toParameter: number), count > 0,
      start.pointee == UInt8(ascii: "{"), let named = value as? [String: Any],
      core.names.contains(where: named.keys.contains)
    {
      throw SqlError.misuse(
        "a dictionary variable binds as one JSON value; pass the values as a dictionary literal")
    }
  }

  /// Binds an integer to the parameter with this number, without a detour through the parameter buffer. Returns false
  /// if the parameter occurs several times, or if its column is not an integer column.
  @usableFromInline
  func bind(integer: Int, toParameter number: Int) throws -> Bool {
    guard number < core.single.count, core.single[number].takesIntegers else { return false }
    try statement.bind(.integer(Int64(integer)), at: core.single[number].index)
    return true
  }

  /// Binds a Bool directly, like `bind(integer:toParameter:)`.
  @usableFromInline
  func bind(flag: Bool, toParameter number: Int) throws -> Bool {
    guard number < core.single.count, core.single[number].takesFlags else { return false }
    try statement.bind(.integer(flag ? 1 : 0), at: core.single[number].index)
    return true
  }

  /// Binds a value wherever the parameter with this number occurs. Returns the last bound value.
  @discardableResult
  func bind<Value: SqlValue>(_ value: Value, toParameter number: Int) throws -> BoundValue {
    var bound = BoundValue.unset
    guard number < core.names.count else { return bound }
    if statement.mark == nil { statement.mark = parameters.mark }
    for target in core.targets where target.number == number {
      bound = try parameters.value(value, for: target.column, isStored: target.isStored, target.side)
      try statement.bind(bound, at: target.index)
    }
    return bound
  }

  @usableFromInline
  func check(count: Int) throws {
    guard count == core.names.count else {
      throw SqlError.misuse("the prepared statement has \(core.names.count) parameters, but was given \(count) values")
    }
  }
}

extension ParameterBuffer {
  /// Returns the value to bind: in the column's stored form if `isStored` is true, otherwise in the form for
  /// comparisons with the column. Throws `.encoding` if the value does not fit.
  func value<Value: SqlValue>(
    _ value: Value, for column: ColumnDefinition?, isStored: Bool, _ side: RoundingSide?
  ) throws -> BoundValue {
    let type = column?.type ?? Value.columnType
    var cell = WriteCell(bytes: bytes, scope: bytes.pointee.current, type: type)
    do {
      if isStored || !type.comparesInAnotherForm {
        try value.write(to: &cell)
      } else {
        try cell.set(type.comparable(value, side))
      }
      guard !cell.isStale else {
        throw SqlError.misuse(
          "the databaseValue of a bound value must not run statements on the handle that binds the value")
      }
      if column != nil {
        let fits = isStored ? cell.isStored : type.compares(with: cell.parameter.storageClass)
        guard fits else { throw type.mismatch(cell.parameter.storageClass) }
      }
    } catch {
      guard let column else { throw error }
      throw SqlExpression.located(error, column: Column(column))
    }
    return cell.parameter
  }
}
