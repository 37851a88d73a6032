import CSQLite
import FoundationEssentials

/// A value on its way to `sqlite3_bind_*`: plain bits, no reference, so that binding allocates nothing.
@usableFromInline
enum Parameter {
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

/// Memory for a row's values, which goes from one writer to the next of its connection.
final class ParameterSlots {
  let memory: UnsafeMutableBufferPointer<Parameter>
  /// Whether a copy of the writer was used when it must not.
  let isStale = Unchecked(false)

  init(count: Int) {
    memory = .allocate(capacity: count)
    memory.initialize(repeating: .unset)
  }

  deinit {
    memory.deallocate()
    isStale.free()
  }
}

/// The values that a statement binds, and the bytes of their texts and blobs.
///
/// Bytes are copied once, into memory that stays where it is until the statement is done, so SQLite gets them as
/// SQLITE_STATIC and copies nothing. Statements nest (one is run while the rows of another are read), never interleave:
/// a statement takes a `Mark` before it appends and gives it back when it is done.
@usableFromInline
final class ParameterBuffer {
  @usableFromInline
  struct Mark {
    var count: Int
    var chunk: Int
    var used: Int
    var lists: Int
    var scope: UInt64
  }

  /// What changes with every value, behind a pointer: exclusivity checks on the properties of a class would cost more than
  /// the work itself.
  private struct State {
    var parameters: UnsafeMutableBufferPointer<Parameter>
    var count = 0
    var chunk: UnsafeMutableBufferPointer<UInt8>
    var used = 0
    var scopes: UInt64 = 0
    /// All chunks, the one that is being filled last.
    var chunks: [UnsafeMutableBufferPointer<UInt8>]
    var lists: [ValueList] = []
    var spareSlots: ParameterSlots?
  }

  private let state: UnsafeMutablePointer<State>
  /// The number of the innermost scope, which no other has had. A value that is added in the scope of another statement is
  /// gone when that statement is done.
  @usableFromInline let scope: UnsafeMutablePointer<UInt64>

  init() {
    let chunk = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 16 << 10)
    state = .allocate(capacity: 1)
    state.initialize(to: State(parameters: .allocate(capacity: 64), chunk: chunk, chunks: [chunk]))
    scope = .allocate(capacity: 1)
    scope.initialize(to: 0)
  }

  deinit {
    for chunk in state.pointee.chunks { chunk.deallocate() }
    state.pointee.parameters.deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
    scope.deallocate()
  }

  /// All parameters that are waiting, the oldest first.
  var parameters: UnsafeBufferPointer<Parameter> {
    UnsafeBufferPointer(rebasing: state.pointee.parameters[..<state.pointee.count])
  }

  /// Where the next statement's values begin. Each begins a scope, which ends when the mark is released.
  var mark: Mark {
    let mark = Mark(
      count: state.pointee.count, chunk: state.pointee.chunks.count, used: state.pointee.used,
      lists: state.pointee.lists.count,
      scope: scope.pointee)
    state.pointee.scopes += 1
    scope.pointee = state.pointee.scopes
    return mark
  }

  /// Ends the scope that began with the mark, with all values since.
  func release(to mark: Mark) {
    drop(since: mark)
    scope.pointee = mark.scope
  }

  /// Forgets the values since the mark, for others in the same scope.
  func drop(since mark: Mark) {
    state.pointee.count = mark.count
    if state.pointee.lists.count > mark.lists {
      state.pointee.lists.removeLast(state.pointee.lists.count - mark.lists)
    }
    if state.pointee.chunks.count > mark.chunk {
      while state.pointee.chunks.count > mark.chunk { state.pointee.chunks.removeLast().deallocate() }
      state.pointee.chunk = state.pointee.chunks[state.pointee.chunks.count - 1]
    }
    state.pointee.used = mark.used
  }

  /// Memory for a row of so many columns.
  func takeSlots(count: Int) -> ParameterSlots {
    guard let spare = state.pointee.spareSlots, spare.memory.count >= count else {
      return ParameterSlots(count: max(count, 32))
    }
    state.pointee.spareSlots = nil
    return spare
  }

  func giveBack(_ slots: ParameterSlots) { state.pointee.spareSlots = slots }

  func append(_ parameter: Parameter) {
    if state.pointee.count == state.pointee.parameters.count { grow() }
    state.pointee.parameters.initializeElement(at: state.pointee.count, to: parameter)
    state.pointee.count += 1
  }

  private func grow() {
    let larger = UnsafeMutableBufferPointer<Parameter>.allocate(capacity: state.pointee.count * 2)
    _ = larger.initialize(from: parameters)
    state.pointee.parameters.deallocate()
    state.pointee.parameters = larger
  }

  func append(_ value: SqlStorage) {
    append(parameter(for: value))
  }

  func append(_ list: ValueList) {
    state.pointee.lists.append(list)
    append(.list(Unmanaged.passUnretained(list)) as Parameter)
  }

  func parameter(for value: SqlStorage) -> Parameter {
    switch value {
    case .null: .null
    case .integer(let integer): .integer(integer)
    case .real(let real): .real(real)
    case .text(let text): self.text(text)
    case .blob(let data): blob(data)
    }
  }

  /// A text whose bytes are kept in this buffer; NUL bytes inside it are kept.
  @usableFromInline
  func text(_ text: String) -> Parameter {
    var text = text
    return text.withUTF8 { .text(copy($0), $0.count) }
  }

  /// A blob whose bytes are kept in this buffer.
  @usableFromInline
  func blob(_ data: Data) -> Parameter {
    data.withUnsafeBytes { .blob(copy($0.bindMemory(to: UInt8.self)), $0.count) }
  }

  /// Keeps a copy of the bytes at an address that holds until the mark before it is released.
  ///
  /// The address is never null: SQLite would store NULL for an empty text or blob.
  @usableFromInline
  func copy(_ source: UnsafeBufferPointer<UInt8>) -> UnsafePointer<UInt8> {
    if state.pointee.used + source.count > state.pointee.chunk.count {
      state.pointee.chunks.append(.allocate(capacity: max(64 << 10, source.count)))
      state.pointee.chunk = state.pointee.chunks[state.pointee.chunks.count - 1]
      state.pointee.used = 0
    }
    let target = state.pointee.chunk.baseAddress.unsafelyUnwrapped + state.pointee.used
    if let start = source.baseAddress { target.update(from: start, count: source.count) }
    state.pointee.used += source.count
    return UnsafePointer(target)
  }

  /// Binds the parameters from `first` on to the statement's positions 1, 2, 3 …
  func bind(from first: Int, to handle: OpaquePointer) -> Int32 {
    for position in first..<state.pointee.count {
      let index = Int32(truncatingIfNeeded: position - first + 1)
      let code = ParameterBuffer.bind(state.pointee.parameters[position], to: handle, at: index)
      if code != SQLITE_OK { return code }
    }
    return SQLITE_OK
  }

  /// Binds one parameter; texts and blobs are not copied and must outlive the statement's run.
  @inline(__always)
  static func bind(_ parameter: Parameter, to handle: OpaquePointer, at index: Int32) -> Int32 {
    switch parameter {
    case .unset, .null: sqlite3_bind_null(handle, index)
    case .integer(let integer): sqlite3_bind_int64(handle, index, integer)
    case .real(let real): sqlite3_bind_double(handle, index, real)
    case .text(let start, let count):
      start.withMemoryRebound(to: CChar.self, capacity: count) {
        sqlite3_bind_text64(handle, index, $0, UInt64(count), nil, UInt8(SQLITE_UTF8))
      }
    case .blob(let start, let count): sqlite3_bind_blob64(handle, index, start, UInt64(count), nil)
    case .list(let list): ValueListModule.bind(list, to: handle, at: index)
    }
  }
}
