import SqlableCore
import SqlableDocuments

extension StatementPolicy {
  /// The limits on a document, and on the run of its statement.
  public struct Limits: Sendable, Hashable {
    /// The maximum size of a document, in bytes.
    public var bytes = 65_536
    /// The maximum LIMIT. A read without a LIMIT gets this limit.
    public var rows = 100
    /// The maximum OFFSET.
    public var offset = 10_000
    /// The maximum number of terms and queries.
    public var nodes = 200
    /// The maximum nesting depth of terms and queries.
    public var depth = 16
    /// The maximum number of values in an IN list, and of inserted rows.
    public var list = 200

    // The limits on a run of a statement that `limited(by:)` returns; nil for no limit.

    /// The maximum time of a run. The time starts when the run gets its handle, and includes waits for locks.
    public var time: Duration? = .seconds(1)
    /// The maximum number of SQLite's virtual machine steps in a run, rounded up to thousands. A million steps take
    /// about 20 ms.
    public var steps: Int? = 50_000_000
    /// The maximum size of a text, blob or row that a run binds, creates or reads, in bytes.
    public var valueBytes: Int? = 1 << 20
    /// The maximum length of a LIKE or GLOB pattern in a run, and of a REGEXP pattern in a checked document, in bytes.
    /// A match can't be interrupted, and its time can grow with the product of the lengths of pattern and text. With a
    /// pattern of 256 bytes and a text of one MiB, a match takes up to a second.
    public var patternBytes: Int? = 256
    /// The maximum length of the second argument of `instr`, `replace`, `trim`, `ltrim`, `rtrim` and `json_patch`, in
    /// bytes. A call of these functions is a single step, which can't be interrupted and whose time grows with the
    /// product of two lengths. With a limit, the argument must be a value in the document; a column or another term is
    /// refused.
    public var argumentBytes: Int? = 128
    /// The maximum length of a full-text query, in bytes. SQLite ranks a text in a single step, which can't be
    /// interrupted. The time of this step grows with the length of the text and with the square of the number of words
    /// in the query. With 64 bytes and a text of one MiB, ranking takes up to two seconds.
    public var searchBytes: Int? = 64
    /// The maximum number of rows in a table that the plan of a run scans completely. Does not apply to a read of one
    /// table that stops at its LIMIT, such as a read without a condition, group or sort.
    public var scannedRows: Int? = 100_000

    public init() {}
  }
}

/// A limit with its name in a policy. To add a limit, add its property above, add its name here, and enforce the limit.
struct NamedLimit: Sendable {
  let name: String
  let get: @Sendable (StatementPolicy.Limits) throws -> Int?
  let set: @Sendable (inout StatementPolicy.Limits, Int) -> Void
  /// A closure that removes the limit; nil for a limit that can't be removed.
  var remove: (@Sendable (inout StatementPolicy.Limits) -> Void)?

  static let none = "none"

  static let all = [
    NamedLimit("bytes", \.bytes), NamedLimit("rows", \.rows), NamedLimit("offset", \.offset),
    NamedLimit("nodes", \.nodes), NamedLimit("depth", \.depth), NamedLimit("list", \.list),
    NamedLimit(
      name: "milliseconds", get: { try $0.time?.milliseconds }, set: { $0.time = .milliseconds($1) },
      remove: { $0.time = nil }),
    NamedLimit("steps", \.steps), NamedLimit("valueBytes", \.valueBytes), NamedLimit("patternBytes", \.patternBytes),
    NamedLimit("argumentBytes", \.argumentBytes), NamedLimit("searchBytes", \.searchBytes),
    NamedLimit("scannedRows", \.scannedRows),
  ]
}

extension NamedLimit {
  private init(_ name: String, _ limit: WritableKeyPath<StatementPolicy.Limits, Int> & Sendable) {
    self.init(name: name, get: { $0[keyPath: limit] }, set: { $0[keyPath: limit] = $1 })
  }

  private init(_ name: String, _ limit: WritableKeyPath<StatementPolicy.Limits, Int?> & Sendable) {
    self.init(
      name: name, get: { $0[keyPath: limit] }, set: { $0[keyPath: limit] = $1 }, remove: { $0[keyPath: limit] = nil })
  }
}

extension Duration {
  fileprivate var milliseconds: Int {
    get throws {
      let isInRange = self >= .milliseconds(Int.min) && self <= .milliseconds(Int.max)
      let (seconds, attoseconds) = isInRange ? components : (0, 1)
      let (wholeMilliseconds, remainder) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000)
      guard remainder == 0 else { throw SqlError.misuse("the time limit must be a whole number of milliseconds") }
      return Int(seconds) * 1000 + Int(wholeMilliseconds)
    }
  }
}
