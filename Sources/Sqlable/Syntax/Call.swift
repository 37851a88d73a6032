extension SqlExpression {
  /// A call of a function, with all that may follow its arguments.
  struct Call: Sendable, Hashable {
    var function: Function
    var arguments: [SqlExpression]
    var isDistinct = false
    /// Which rows an aggregate takes.
    var filter: SqlExpression?
    var window: WindowClause?

    /// A function by its name, as SQL spells it.
    enum Function: Sendable, Hashable {
      /// `count(*)`
      case countRows
      /// One of SQLite's own.
      case builtIn(BuiltIn)
      /// One that a program has registered; its name is quoted.
      case named(String)

      static func == (left: Function, right: Function) -> Bool {
        switch (left, right) {
        case (.countRows, .countRows): true
        case (.builtIn(let left), .builtIn(let right)): left == right
        case (.named(let left), .named(let right)): left.isExactly(right)
        default: false
        }
      }
    }

    /// Whether the argument of that number says how the function works, and so is written into the SQL.
    func isConstant(_ index: Int) -> Bool {
      guard index > 0, case .builtIn(let function) = self.function else { return false }
      return switch function {
      case .substr, .round, .trim, .ltrim, .rtrim: true
      case .jsonExtract, .jsonArrayLength, .jsonType, .jsonEach, .jsonTree: true
      default: false
      }
    }

    /// A function of SQLite's. To add one: its name here, and what makes a term of it in `Language/Terms`.
    enum BuiltIn: String, Sendable, Hashable {
      case count, sum, total, avg, min, max
      case groupConcat = "group_concat"
      case rowNumber = "row_number"
      case rank
      case denseRank = "dense_rank"
      case percentRank = "percent_rank"
      case cumeDist = "cume_dist"
      case ntile, lag, lead
      case firstValue = "first_value"
      case lastValue = "last_value"
      case lower, upper, length, abs
      case coalesce, round, substr, trim, ltrim, rtrim, replace, instr, hex, typeof, random, unicode, nullif
      case jsonExtract = "json_extract"
      case jsonArrayLength = "json_array_length"
      case jsonType = "json_type"
      case jsonObject = "json_object"
      case jsonArray = "json_array"
      case jsonGroupArray = "json_group_array"
      case jsonEach = "json_each"
      case jsonTree = "json_tree"
      case scalarMin, scalarMax

      var name: String {
        switch self {
        case .scalarMin: "min"
        case .scalarMax: "max"
        default: rawValue
        }
      }

      /// Whether it is an aggregate or a window function.
      fileprivate var takesWindow: Bool {
        switch self {
        case .count, .sum, .total, .avg, .min, .max, .groupConcat, .jsonGroupArray: true
        case .rowNumber, .rank, .denseRank, .percentRank, .cumeDist, .ntile, .lag, .lead, .firstValue, .lastValue: true
        default: false
        }
      }

      /// Whether a statement with it can be encoded, and a filter with it be judged by the values of a row alone: a
      /// function of one argument that every SQLite has.
      fileprivate var isElementary: Bool {
        switch self {
        case .lower, .upper, .length, .abs: true
        default: false
        }
      }
    }

    /// Whether a window can follow; of a function of the program's own SQLite says so.
    var takesWindow: Bool { if case .builtIn(let function) = function { function.takesWindow } else { true } }

    /// The function, where it is elementary and nothing is said beside its argument.
    var elementary: BuiltIn? {
      guard case .builtIn(let function) = function, function.isElementary, arguments.count == 1, !isDistinct,
        filter == nil, window == nil
      else { return nil }
      return function
    }

    /// All terms in it.
    var terms: [SqlExpression] {
      var terms = arguments
      if let filter { terms.append(filter) }
      if let window { terms += window.partition + window.order.map(\.expression) }
      return terms
    }
  }

  /// `OVER (PARTITION BY … ORDER BY … ROWS BETWEEN … AND …)`
  struct WindowClause: Sendable, Hashable {
    var partition: [SqlExpression] = []
    var order: [OrderTerm] = []
    var frame: WindowFrame?
  }

  /// A query that stands for a value or a condition.
  struct QueryTerm: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
      case scalar, exists, isIn
    }

    let kind: Kind
    /// What is looked for, for `isIn`.
    var term: SqlExpression?
    let query: SelectQuery
  }
}

extension SqlExpression.Call {
  /// A call as data has it; nil for what is none.
  init?(elementary name: String, _ arguments: [SqlExpression]) {
    guard let function = BuiltIn(rawValue: name), function.isElementary, arguments.count == 1 else { return nil }
    self.init(function: .builtIn(function), arguments: arguments)
  }
}

/// The rows around the current one that a window function takes.
///
/// ```swift
/// Flight.delay.average().over(orderBy: Flight.day.asc, frame: .rows(.preceding(6), .currentRow))
/// // … ROWS BETWEEN 6 PRECEDING AND CURRENT ROW
/// ```
public struct WindowFrame: Sendable, Hashable {
  enum Unit: String, Sendable, Hashable {
    case rows = "ROWS"
    case range = "RANGE"
    case groups = "GROUPS"
  }

  /// An end of a frame. A number below zero throws `.invalidStatement` when the statement is run.
  public enum Bound: Sendable, Hashable {
    case unboundedPreceding, currentRow, unboundedFollowing
    case preceding(Int)
    case following(Int)
  }

  let unit: Unit
  let start: Bound
  let end: Bound

  /// Counted in rows.
  public static func rows(_ start: Bound, _ end: Bound) -> WindowFrame {
    WindowFrame(unit: .rows, start: start, end: end)
  }

  /// Measured by the value that orders them.
  public static func range(_ start: Bound, _ end: Bound) -> WindowFrame {
    WindowFrame(unit: .range, start: start, end: end)
  }

  /// Counted in groups of rows that are equal by the order.
  public static func groups(_ start: Bound, _ end: Bound) -> WindowFrame {
    WindowFrame(unit: .groups, start: start, end: end)
  }
}
