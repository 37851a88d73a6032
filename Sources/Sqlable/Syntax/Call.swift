extension SqlExpression {
  /// A function call with its optional clauses.
  struct Call: Sendable, Hashable {
    var function: Function
    var arguments: [SqlExpression]
    var isDistinct = false
    /// The order in which an aggregate takes its rows.
    var order: [OrderTerm] = []
    /// The FILTER of an aggregate.
    var filter: SqlExpression?
    var window: WindowClause?

    /// The function's name in SQL.
    enum Function: Sendable, Hashable {
      /// `count(*)`
      case countRows
      /// A function built into SQLite.
      case builtIn(BuiltIn)
      /// A function registered by the program; its name is quoted.
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

    /// Whether the argument at this index configures the function, and so is written into the SQL as a literal.
    func isConstant(_ index: Int) -> Bool {
      guard case .builtIn(let function) = self.function, index > 0 || function == .printf else { return false }
      return switch function {
      case .substr, .round, .trim, .ltrim, .rtrim: true
      case .printf: index == 0
      default: takesPath(index)
      }
    }

    /// SQLite's functions. To add one, add its name here and the method that builds the term in `Language/Terms`.
    enum BuiltIn: String, Sendable, Hashable, CaseIterable {
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
      case nthValue = "nth_value"
      case lower, upper, length, abs
      case coalesce, round, substr, trim, ltrim, rtrim, replace, instr, hex, typeof, random, unicode, nullif
      case json
      case jsonExtract = "json_extract"
      case jsonArrayLength = "json_array_length"
      case jsonType = "json_type"
      case jsonObject = "json_object"
      case jsonArray = "json_array"
      case jsonGroupArray = "json_group_array"
      case jsonEach = "json_each"
      case jsonTree = "json_tree"
      case jsonSet = "json_set"
      case jsonInsert = "json_insert"
      case jsonReplace = "json_replace"
      case jsonRemove = "json_remove"
      case jsonPatch = "json_patch"
      case jsonGroupObject = "json_group_object"
      case printf
      // Mathematics, which SQLite has from 3.35 on if it was built with them.
      case acos, acosh, asin, asinh, atan, atan2, atanh, ceil, cos, cosh, degrees, exp, floor, ln, log, log10, log2, mod
      case pi, pow, radians, sign, sin, sinh, sqrt, tan, tanh, trunc
      case scalarMin, scalarMax

      var name: String {
        switch self {
        case .scalarMin: "min"
        case .scalarMax: "max"
        default: rawValue
        }
      }

      var isAggregate: Bool {
        switch self {
        case .count, .sum, .total, .avg, .min, .max, .groupConcat, .jsonGroupArray, .jsonGroupObject: true
        default: false
        }
      }

      /// Whether it is an aggregate whose result depends on the order of its rows.
      var takesOrder: Bool { self == .groupConcat || self == .jsonGroupArray || self == .jsonGroupObject }

      /// Whether it is a function of a window, and of nothing else.
      var isOfWindow: Bool {
        switch self {
        case .rowNumber, .rank, .denseRank, .percentRank, .cumeDist, .ntile: true
        case .lag, .lead, .firstValue, .lastValue, .nthValue: true
        default: false
        }
      }

      /// Whether it reads or makes JSON. Reading throws for text that is not JSON.
      var isOfJSON: Bool {
        switch self {
        case .jsonExtract, .jsonArrayLength, .jsonType, .jsonObject, .jsonArray, .jsonGroupArray: true
        case .jsonEach, .jsonTree: true
        case .json, .jsonSet, .jsonInsert, .jsonReplace, .jsonRemove, .jsonPatch, .jsonGroupObject: true
        default: false
        }
      }

      /// Whether it is one of mathematics, which a build of SQLite may lack.
      var isOfMathematics: Bool {
        switch self {
        case .acos, .acosh, .asin, .asinh, .atan, .atan2, .atanh, .ceil, .cos, .cosh, .degrees, .exp, .floor, .ln: true
        case .log, .log10, .log2, .mod, .pi, .pow, .radians, .sign, .sin, .sinh, .sqrt, .tan, .tanh, .trunc: true
        default: false
        }
      }

      /// Whether its result is a table.
      var isOfTables: Bool { self == .jsonEach || self == .jsonTree }

      /// Whether SQLite would take text for 0.
      var takesNumbers: Bool {
        switch self {
        case .sum, .total, .avg: true
        default: isOfMathematics
        }
      }

      /// Whether a filter with it can be evaluated from a row's values alone: a function of one argument that every
      /// version of SQLite has.
      fileprivate var isElementary: Bool {
        switch self {
        case .lower, .upper, .length, .abs: true
        default: false
        }
      }
    }

    /// Whether it makes one value of many rows. Of a registered function that is known only by its other clauses.
    var isAggregate: Bool {
      guard window == nil else { return false }
      switch function {
      case .countRows: return true
      case .named: return isDistinct || filter != nil || !order.isEmpty
      case .builtIn(let function): return function.isAggregate
      }
    }

    /// Whether the call can have an order. For a registered function SQLite checks that it is an aggregate.
    var takesOrder: Bool {
      switch function {
      case .countRows: false
      case .builtIn(let function): function.takesOrder && window == nil
      case .named: window == nil
      }
    }

    /// What it is in errors, if it has a value of several rows; nil for a function of one row.
    var nameOverRows: String? {
      if window != nil { return "a window function" }
      switch function {
      case .countRows: return "the aggregate count()"
      case .builtIn(let function) where function.isAggregate: return "the aggregate \(function.name)()"
      case .builtIn(let function) where function.isOfWindow: return "a window function"
      case .named(let name) where isAggregate: return "the aggregate \(name)()"
      case .named, .builtIn: return nil
      }
    }

    /// Whether the call can have a window. For a registered function SQLite checks that itself.
    var takesWindow: Bool {
      if case .builtIn(let function) = function { function.isAggregate || function.isOfWindow } else { true }
    }

    /// Whether the function is elementary and the call has no other clauses.
    var isElementary: Bool {
      guard case .builtIn(let function) = function, function.isElementary, arguments.count == 1 else { return false }
      return !isDistinct && order.isEmpty && filter == nil && window == nil
    }

    /// Whether the argument at this index is a path within JSON.
    func takesPath(_ index: Int) -> Bool {
      guard index > 0, case .builtIn(let function) = self.function else { return false }
      return switch function {
      case .jsonExtract, .jsonArrayLength, .jsonType, .jsonEach, .jsonTree, .jsonRemove: true
      // Each path stands before its value.
      case .jsonSet, .jsonInsert, .jsonReplace: !index.isMultiple(of: 2)
      default: false
      }
    }

    /// Whether a path stands without its value.
    var lacksValue: Bool {
      switch function {
      case .builtIn(.jsonSet), .builtIn(.jsonInsert), .builtIn(.jsonReplace): arguments.count.isMultiple(of: 2)
      default: false
      }
    }

    /// All terms of the call.
    var terms: [SqlExpression] {
      var terms = arguments + order.map(\.expression)
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

  /// A subquery used as a value or a condition.
  struct QueryTerm: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
      case scalar, exists, isIn
      /// The number of its rows.
      case count
    }

    let kind: Kind
    /// The left side of `isIn`.
    var term: SqlExpression?
    let query: SelectQuery
  }
}

/// The rows around the current one that a window function covers.
///
/// ```swift
/// Flight.delay.average().over(orderBy: Flight.day.asc, frame: .rows(.preceding(6), .currentRow))
/// // … ROWS BETWEEN 6 PRECEDING AND CURRENT ROW
/// ```
public struct WindowFrame: Sendable, Hashable {
  enum Unit: String, Sendable, Hashable {
    case rows, range, groups

    var sql: String { rawValue.uppercased() }
  }

  /// A bound of a frame. Running a statement with a negative number throws `.invalidStatement`.
  public enum Bound: Sendable, Hashable {
    case unboundedPreceding, currentRow, unboundedFollowing
    case preceding(Int)
    case following(Int)
  }

  /// The rows that a frame leaves out. The current row's peers are those that its order does not tell from it.
  public enum Exclusion: String, Sendable, Hashable {
    /// None: `EXCLUDE NO OTHERS`, the default.
    case noOthers
    /// The current row.
    case currentRow
    /// The current row and its peers.
    case group
    /// The peers of the current row, but not itself.
    case ties
  }

  let unit: Unit
  let start: Bound
  let end: Bound
  var exclusion = Exclusion.noOthers

  /// A frame with bounds counted in rows.
  ///
  /// ```swift
  /// .rows(.preceding(1), .following(1), excluding: .currentRow)
  /// // ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW
  /// ```
  public static func rows(_ start: Bound, _ end: Bound, excluding exclusion: Exclusion = .noOthers) -> WindowFrame {
    WindowFrame(unit: .rows, start: start, end: end, exclusion: exclusion)
  }

  /// A frame with bounds measured by the value that orders the rows.
  public static func range(_ start: Bound, _ end: Bound, excluding exclusion: Exclusion = .noOthers) -> WindowFrame {
    WindowFrame(unit: .range, start: start, end: end, exclusion: exclusion)
  }

  /// A frame with bounds counted in groups of rows that compare as equal.
  public static func groups(_ start: Bound, _ end: Bound, excluding exclusion: Exclusion = .noOthers) -> WindowFrame {
    WindowFrame(unit: .groups, start: start, end: end, exclusion: exclusion)
  }
}
