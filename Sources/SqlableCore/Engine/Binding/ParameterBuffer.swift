import CSqlableSQLite
import FoundationEssentials
import Glibc
import Synchronization

/// Memory for the values of a row. The row writers of one connection reuse this memory.
package final class ParameterSlots {
  let memory: UnsafeMutableBufferPointer<BoundValue>
  /// True if the writer was used after `write(to:)` returned, or if another statement ran inside `write(to:)`.
  @exclusivity(unchecked) var isStale = false
  /// The encoder of the last row that `Codable` wrote, for reuse by the next row. Stored in separate memory, because
  /// reading an object from a class property would retain the object for each row.
  package let encoder = UnsafeMutablePointer<AnyObject?>.allocate(capacity: 1)
  #if DEBUG
  /// The positions of the columns that `write(to:)` deliberately skipped.
  var skipped: Set<Int> = []
  #endif

  init(count: Int) {
    memory = .allocate(capacity: count)
    memory.initialize(repeating: .unset)
    encoder.initialize(to: nil)
  }

  deinit {
    encoder.deinitialize(count: 1)
    encoder.deallocate()
    memory.deallocate()
  }
}

/// The bytes of texts and blobs to bind. Their addresses remain valid until the statement is finished.
///
/// The struct's memory is recycled but never freed. A row writer that a program keeps after writing the row therefore
/// reads valid memory, and detects that `scope` has changed. Such a writer can check the scope on any thread, while
/// another connection owns the memory. So the scope is atomic, and is checked before any other access.
@usableFromInline
struct ParameterBytes: ~Copyable {
  /// The number of the innermost scope. A scope covers the values of one statement or struct. Numbers are never reused.
  @usableFromInline let scope = Atomic<UInt64>(0)
  fileprivate var scopes: UInt64 = 0
  fileprivate var next: UnsafeMutablePointer<UInt8>?
  fileprivate var end: UnsafeMutablePointer<UInt8>?
  /// All chunks. New bytes go into the last chunk.
  fileprivate var chunks: [UnsafeMutableBufferPointer<UInt8>] = []

  fileprivate init() {}

  @inlinable
  @inline(__always)
  func isCurrent(_ scope: UInt64) -> Bool { self.scope.load(ordering: .relaxed) == scope }

  @usableFromInline
  var current: UInt64 { scope.load(ordering: .relaxed) }

  @inline(__always)
  fileprivate mutating func beginScope() {
    scopes += 1
    scope.store(scopes, ordering: .relaxed)
  }

  /// Copies a text, including NUL bytes. Returns the address and the number of the bytes.
  // Returns an address and a length. Callers of a function that returns a `BoundValue` would have to examine its case
  // again.
  @usableFromInline
  mutating func copy(_ text: String) -> (UnsafePointer<UInt8>, Int) {
    if let copied = text.utf8.withContiguousStorageIfAvailable({ (copy($0), $0.count) }) { return copied }
    var text = text
    return text.withUTF8 { (copy($0), $0.count) }
  }

  // Not inlined: the access to the bytes of `Data` compiles to a kilobyte of code.
  @usableFromInline
  @inline(never)
  mutating func blob(_ data: Data) -> BoundValue {
    data.withUnsafeBytes { .blob(copy($0.bindMemory(to: UInt8.self)), $0.count) }
  }

  /// Copies the bytes to an address that remains valid until the mark of the current scope is released.
  ///
  /// The address is never null, because SQLite would store NULL for an empty text or blob with a null address.
  @usableFromInline
  @inline(__always)
  mutating func copy(_ source: UnsafeBufferPointer<UInt8>) -> UnsafePointer<UInt8> {
    var target = next.unsafelyUnwrapped
    if source.count > end.unsafelyUnwrapped - target { target = addChunk(for: source.count) }
    if let start = source.baseAddress { target.update(from: start, count: source.count) }
    next = target + source.count
    return UnsafePointer(target)
  }

  @inline(never)
  private mutating func addChunk(for count: Int) -> UnsafeMutablePointer<UInt8> {
    chunks.append(.allocate(capacity: max(64 << 10, count)))
    fill(from: 0)
    return next.unsafelyUnwrapped
  }

  /// Makes `copy` continue at an offset of the last chunk.
  fileprivate mutating func fill(from used: Int) {
    let chunk = chunks[chunks.count - 1]
    next = chunk.baseAddress.unsafelyUnwrapped + used
    end = chunk.baseAddress.unsafelyUnwrapped + chunk.count
  }

  fileprivate var used: Int { next.unsafelyUnwrapped - chunks[chunks.count - 1].baseAddress.unsafelyUnwrapped }

  /// The unused instances, shared by all connections.
  private static let free = LockedValue<[UnsafeMutablePointer<ParameterBytes>]>([])

  fileprivate static func take(capacity: Int) -> UnsafeMutablePointer<ParameterBytes> {
    let bytes: UnsafeMutablePointer<ParameterBytes>
    if let recycled = free.withLock({ $0.popLast() }) {
      bytes = recycled
    } else {
      bytes = .allocate(capacity: 1)
      bytes.initialize(to: ParameterBytes())
    }
    bytes.pointee.chunks.append(.allocate(capacity: capacity))
    bytes.pointee.fill(from: 0)
    return bytes
  }

  fileprivate static func give(back bytes: UnsafeMutablePointer<ParameterBytes>) {
    bytes.pointee.beginScope()
    while let chunk = bytes.pointee.chunks.popLast() { chunk.deallocate() }
    free.withLock { $0.append(bytes) }
  }
}

/// The values that a statement binds, and the bytes of their texts and blobs.
///
/// Bytes are copied once, to addresses that remain valid until the statement is finished. So the bytes are bound as
/// SQLITE_STATIC, and SQLite makes no copy. Statements can nest: one statement can run while another statement's rows
/// are read. The inner statement always finishes first. Each statement creates a `Mark` before it appends values, and
/// releases the mark when the statement is finished.
@usableFromInline
package final class ParameterBuffer {
  @usableFromInline
  package struct Mark {
    var count: Int
    var chunk: Int
    var used: Int
    var lists: Int
    var placeholders: Int
    var scope: UInt64
  }

  private struct State {
    var parameters: UnsafeMutableBufferPointer<BoundValue>
    var count = 0
    var lists: [ValueList] = []
    /// The placeholders for values that are supplied later, with the positions of their parameters.
    var placeholders: [(position: Int, placeholder: Placeholder)] = []
    var spareSlots: ParameterSlots?
  }

  @exclusivity(unchecked) private var state: State
  let bytes: UnsafeMutablePointer<ParameterBytes>
  let lists: Lists

  package enum Lists {
    /// Binds a long list as a pointer. Pads a short list with its last value, so that similar lengths share a
    /// statement.
    case pointers
    /// Binds a long list as JSON, or with one `?` per value if JSON can't represent a value. For a remote database.
    case expanded
    /// Binds every list with one `?` per value. The caller then replaces each `?` with a literal.
    case literal
  }

  /// Creates a buffer for `count` values and `bytes` bytes of texts and blobs. The buffer grows when required.
  package init(lists: Lists = .pointers, count: Int = 64, bytes: Int = 16 << 10) {
    state = State(parameters: .allocate(capacity: max(1, count)))
    self.bytes = ParameterBytes.take(capacity: max(1, bytes))
    self.lists = lists
  }

  deinit {
    ParameterBytes.give(back: bytes)
    state.parameters.deallocate()
  }

  var count: Int { state.count }

  /// All values to be bound, oldest first.
  var parameters: UnsafeBufferPointer<BoundValue> {
    UnsafeBufferPointer(rebasing: state.parameters[..<state.count])
  }

  /// The position where the next statement's values begin. Reading this property begins a scope, which ends when the
  /// mark is released.
  package var mark: Mark {
    let mark = Mark(
      count: state.count, chunk: bytes.pointee.chunks.count, used: bytes.pointee.used,
      lists: state.lists.count, placeholders: state.placeholders.count, scope: bytes.pointee.current)
    bytes.pointee.beginScope()
    return mark
  }

  /// Ends the scope that began with the mark, and removes the values added since the mark.
  package func release(to mark: Mark) {
    drop(since: mark)
    bytes.pointee.scope.store(mark.scope, ordering: .relaxed)
  }

  /// Removes the values added since the mark, so that other values can be added in the same scope.
  func drop(since mark: Mark) {
    state.count = mark.count
    if state.lists.count > mark.lists {
      state.lists.removeLast(state.lists.count - mark.lists)
    }
    if state.placeholders.count > mark.placeholders {
      state.placeholders.removeLast(state.placeholders.count - mark.placeholders)
    }
    while bytes.pointee.chunks.count > mark.chunk { bytes.pointee.chunks.removeLast().deallocate() }
    bytes.pointee.fill(from: mark.used)
  }

  /// Removes all but the first `count` values. The memory of the removed texts is reused after the scope ends.
  func truncate(to count: Int) { state.count = count }

  /// Removes the values from `first` on. Writing the cache key has added the values from `mark` to `first`, and writing
  /// the SQL text has added the same values again. Throws if the two groups of values differ, because the statement
  /// would then be bound to wrong values.
  func dropCopies(from first: Int, of mark: Mark) throws {
    let (values, copies) = (state.parameters[mark.count..<first], state.parameters[first..<state.count])
    guard values.count == copies.count, zip(values, copies).allSatisfy({ $0.isSame(as: $1) }) else {
      throw SqlError.misuse("a statement and its cache key bind different values; report this bug of the library")
    }
    state.count = first
  }

  /// True if the values since the mark include lists. SQLite retains bound lists until the bindings are cleared.
  func hasLists(since mark: Mark) -> Bool { state.lists.count > mark.lists }

  func takeSlots(count: Int) -> ParameterSlots {
    guard let spare = state.spareSlots, spare.memory.count >= count else {
      return ParameterSlots(count: max(count, 32))
    }
    state.spareSlots = nil
    return spare
  }

  func giveBack(_ slots: ParameterSlots) { state.spareSlots = slots }

  func append(_ parameter: BoundValue) {
    if state.count == state.parameters.count { grow() }
    state.parameters.initializeElement(at: state.count, to: parameter)
    state.count += 1
  }

  private func grow() {
    let larger = UnsafeMutableBufferPointer<BoundValue>.allocate(capacity: state.count * 2)
    _ = larger.initialize(from: parameters)
    state.parameters.deallocate()
    state.parameters = larger
  }

  package func append(_ value: DatabaseValue) { append(bytes.pointee.parameter(for: value)) }

  func append(_ list: ValueList) {
    state.lists.append(list)
    append(.list(Unmanaged.passUnretained(list)) as BoundValue)
  }

  /// Adds the value that was supplied for a placeholder, or an unset value if the value is supplied later.
  func append(_ placeholder: Placeholder) throws {
    if let given = GivenParameters.current, let value = try given.value(for: placeholder, in: self) {
      return append(value)
    }
    state.placeholders.append((state.count, placeholder))
    append(.unset as BoundValue)
  }

  /// Returns the placeholders since the mark, with parameter positions counted from 1; nil without a placeholder.
  func placeholders(since mark: Mark) -> [(index: Int32, placeholder: Placeholder)]? {
    guard state.placeholders.count > mark.placeholders else { return nil }
    return state.placeholders[mark.placeholders...].map { (Int32($0.position - mark.count + 1), $0.placeholder) }
  }

  package var firstPlaceholder: Placeholder? { state.placeholders.first?.placeholder }

  /// Binds the values at index `first` and above to the statement's parameters 1, 2, 3 …
  func bind(from first: Int, to handle: OpaquePointer) -> Int32 {
    for position in first..<state.count {
      let index = Int32(truncatingIfNeeded: position - first + 1)
      let code = state.parameters[position].give(to: ParameterTarget(statement: handle, index: index))
      if code != SQLITE_OK { return code }
    }
    return SQLITE_OK
  }
}

extension ParameterBytes {
  /// The position in the buffer where the texts and blobs of one struct begin.
  struct RowMark {
    fileprivate let next: UnsafeMutablePointer<UInt8>?
    fileprivate let chunk: Int
    fileprivate let scope: UInt64
  }

  /// Begins a scope for the values of one struct. The scope ends when the mark is released.
  @inline(__always)
  mutating func beginRow() -> RowMark {
    let mark = RowMark(next: next, chunk: chunks.count, scope: current)
    beginScope()
    return mark
  }

  @inline(__always)
  mutating func release(to mark: RowMark) {
    if chunks.count > mark.chunk { dropChunks(to: mark.chunk) }
    next = mark.next
    scope.store(mark.scope, ordering: .relaxed)
  }

  /// Ends the scope that began with the mark, and keeps the bytes added since the mark.
  @inline(__always)
  func keep(since mark: RowMark) { scope.store(mark.scope, ordering: .relaxed) }

  /// True if the bytes added since the mark required another chunk.
  @inline(__always)
  func hasGrown(since mark: RowMark) -> Bool { chunks.count > mark.chunk }

  @inline(never)
  private mutating func dropChunks(to count: Int) {
    while chunks.count > count { chunks.removeLast().deallocate() }
    fill(from: 0)
  }

  mutating func parameter(for value: DatabaseValue) -> BoundValue {
    switch value {
    case .null: return .null
    case .integer(let integer): return .integer(integer)
    case .real(let real): return .real(real)
    case .text(let text):
      let (start, count) = copy(text)
      return .text(start, count)
    case .blob(let data): return blob(data)
    }
  }
}

extension BoundValue {
  /// True if both values are equal. Lists are compared by count only: writing the cache key and then the SQL text
  /// creates two objects for the same list.
  fileprivate func isSame(as other: BoundValue) -> Bool {
    switch (self, other) {
    case (.unset, .unset), (.null, .null): true
    case (.integer(let left), .integer(let right)): left == right
    case (.real(let left), .real(let right)): left.bitPattern == right.bitPattern
    case (.text(let left, let count), .text(let right, let otherCount)),
      (.blob(let left, let count), .blob(let right, let otherCount)):
      count == otherCount && memcmp(left, right, count) == 0
    case (.list(let left), .list(let right)):
      left.takeUnretainedValue().parameters.count == right.takeUnretainedValue().parameters.count
    default: false
    }
  }
}
