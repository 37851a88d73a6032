/// A piece of work that contenders do one after the other, round after round.
struct Workload {
  enum Unit: String, Encodable {
    case milliseconds = "ms"
    case reads = "reads/s"
    case bytes = "B/row"

    /// Whether a larger figure is a better one.
    var isRate: Bool { self == .reads }
  }

  /// A sample of a workload that takes a fixed time and counts what gets done.
  struct Rate {
    var reads: Double
    var writes: Double
  }

  struct Contender {
    enum Work {
      /// Does the work once and gives a digest of all that it read or wrote.
      case once(() throws -> UInt64)
      /// Works for some time and gives what was done per second.
      case rate(() throws -> Rate)
    }

    let name: String
    /// What is done before and after each round and takes no part in its time.
    var setUp: () throws -> Void = {}
    var tearDown: () throws -> Void = {}
    let work: Work
    /// A digest of what the work left in the database, taken in the first round.
    var verify: (() throws -> UInt64)?

    init(
      _ name: String, setUp: @escaping () throws -> Void = {}, tearDown: @escaping () throws -> Void = {},
      verify: (() throws -> UInt64)? = nil, run: @escaping () throws -> UInt64
    ) {
      self.name = name
      self.setUp = setUp
      self.tearDown = tearDown
      self.verify = verify
      work = .once(run)
    }

    init(_ name: String, setUp: @escaping () throws -> Void = {}, rate: @escaping () throws -> Rate) {
      self.name = name
      self.setUp = setUp
      work = .rate(rate)
    }
  }

  let id: String
  let title: String
  let unit: Unit
  /// How many rows or operations one round has.
  let operations: Int
  /// More rounds than these would take too long.
  let maximumRounds: Int
  /// Makes the contenders; ratios are to the first. Only called for a workload that is run.
  let contenders: () throws -> [Contender]

  init(
    _ id: String, _ title: String, operations: Int, unit: Unit = .milliseconds, maximumRounds: Int = .max,
    contenders: @escaping () throws -> [Contender]
  ) {
    self.id = id
    self.title = title
    self.unit = unit
    self.operations = operations
    self.maximumRounds = maximumRounds
    self.contenders = contenders
  }
}

/// The names of the contenders; a variant of one adds what it does differently.
enum Name {
  static let c = "raw C"
  static let swift = "raw Swift"
  static let grdb = "GRDB"
  static let grdbIndex = "GRDB index"
  static let grdbName = "GRDB name"
  static let grdbCodable = "GRDB Codable"
  static let grdbCached = "GRDB cached"
  static let untyped = "Sqlable untyped"
  static let typed = "Sqlable typed"
  /// For models that their `Codable` conformance reads and writes.
  static let codable = "Sqlable Codable"
  /// For the form whose statement is prepared once, by hand.
  static let prepared = "Sqlable prepared"
  static let sqlable = "Sqlable"
  /// For SQL by hand that is prepared through the library, to which other forms of a query are a ratio.
  static let preparedSQL = "prepared SQL"
}
