import SqlableCore

extension StatementPolicy {
  /// The largest size of a document, and of what it reads.
  public struct Limits: Sendable, Hashable {
    /// The largest document, in bytes.
    public var bytes = 65_536
    /// The largest LIMIT; a read without one gets it.
    public var rows = 100
    /// The largest OFFSET.
    public var offset = 10_000
    /// The number of terms and queries.
    public var nodes = 200
    /// The most levels of terms and queries within one another.
    public var depth = 16
    /// The number of values of an IN list, and of rows that are inserted.
    public var list = 200

    // Of a run that is limited(by:) the policy; nil for no limit.

    /// The time of a run from when it has its handle, waiting for locks included.
    public var time: Duration? = .seconds(1)
    /// The most steps of SQLite's virtual machine in a run, in whole thousands; a million take some 20 ms.
    public var steps: Int? = 50_000_000
    /// The largest text, blob or row that a run may bind, make or read, in bytes.
    public var valueBytes: Int? = 1 << 20
    /// The longest pattern of LIKE and GLOB, in bytes. To match one text may take as many steps as both have bytes
    /// multiplied, which nothing can stop: a pattern of 256 bytes and a text of one MiB take up to a second.
    public var patternBytes: Int? = 256
    /// The longest second argument, in bytes, of `instr`, `replace`, `trim`, `ltrim`, `rtrim` and `json_patch`. Each
    /// is a single step, whose time grows with the product of two lengths, and which nothing can stop. With a limit,
    /// such an argument must be a value of the document; a column or another term is refused.
    public var argumentBytes: Int? = 128
    /// The longest full-text query, in bytes. To rank a text is a single step, whose time grows with the text and with
    /// the square of the number of words in the query: 64 bytes and a text of one MiB take up to two seconds.
    public var searchBytes: Int? = 64
    /// The most rows of a table that a run's plan scans completely. A read of one table without a condition visits only
    /// the rows of its limit.
    public var scannedRows: Int? = 100_000

    public init() {}
  }
}

/// A limit, by its name in a policy. To add one, add its property above and its name here, and check it where it holds.
struct NamedLimit: Sendable {
  let name: String
  let get: @Sendable (StatementPolicy.Limits) throws -> Int?
  let set: @Sendable (inout StatementPolicy.Limits, Int) -> Void
  /// Removes the limit; nil for one that can't be removed.
  var remove: (@Sendable (inout StatementPolicy.Limits) -> Void)?

  /// The text for a limit that is not set.
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
  /// Throws for a part of a millisecond.
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
