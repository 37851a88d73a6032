extension SqlExpression {
  package struct Call: Sendable, Hashable {
    package var function: Function
    package var arguments: [SqlExpression]
    package var isDistinct = false
    package var order: [OrderTerm] = []
    package var filter: SqlExpression?
    package var window: WindowClause?
    var result = DateResult()

    package init(
      function: Function, arguments: [SqlExpression], isDistinct: Bool = false, order: [OrderTerm] = [],
      filter: SqlExpression? = nil, window: WindowClause? = nil
    ) {
      self.function = function
      self.arguments = arguments
      self.isDistinct = isDistinct
      self.order = order
      self.filter = filter
      self.window = window
    }

    /// The storage format of the dates that a registered function returns.
    ///
    /// A decoded call does not know the function's type, and must still equal the original call. So `==` is always
    /// true.
    struct DateResult: Sendable, Hashable {
      var format: ColumnType.DateFormat?

      static func == (left: DateResult, right: DateResult) -> Bool { true }
      func hash(into hasher: inout Hasher) {}
    }

    package enum Function: Sendable, Hashable {
      case countRows
      case builtIn(BuiltIn)
      /// A function registered by the program. The SQL contains the quoted name.
      case named(String)

      package static func == (left: Function, right: Function) -> Bool {
        switch (left, right) {
        case (.countRows, .countRows): true
        case (.builtIn(let left), .builtIn(let right)): left == right
        case (.named(let left), .named(let right)): left.isExactly(right)
        default: false
        }
      }
    }

    /// True if the argument at this index configures the function and is written into the SQL as a literal.
    func isConstant(_ index: Int) -> Bool {
      switch facts?.constants {
      case .format: index == 0
      case .allButFirst, .paths: index > 0
      case .pathsOfValues: !index.isMultiple(of: 2)
      case .nothing, nil: false
      }
    }

    package var facts: BuiltIn.Facts? { if case .builtIn(let function) = function { function.facts } else { nil } }

    /// True if the call combines many rows into one value. A registered function is treated as an aggregate only if the
    /// call has DISTINCT, a filter or an order.
    package var isAggregate: Bool {
      guard window == nil else { return false }
      switch function {
      case .countRows: return true
      case .named: return isDistinct || filter != nil || !order.isEmpty
      case .builtIn(let function): return function.facts.kind == .aggregate
      }
    }

    /// True if the call can contain an ORDER BY. A registered function might be an aggregate; SQLite checks this.
    package var takesOrder: Bool {
      switch function {
      case .countRows: false
      case .builtIn(let function): function.facts.has(.takesOrder) && window == nil
      case .named: window == nil
      }
    }

    /// The description of an aggregate or window function in error messages; nil for a scalar function.
    var nameOverRows: String? {
      if window != nil { return "a window function" }
      switch function {
      case .countRows: return "the aggregate count()"
      case .builtIn(let function) where isAggregate: return "the aggregate \(function.name)()"
      case .named(let name) where isAggregate: return "the aggregate \(name)()"
      case .named, .builtIn: return facts?.kind == .window ? "a window function" : nil
      }
    }

    /// True if the call can have a window. A registered function might be an aggregate; SQLite checks this.
    package var takesWindow: Bool {
      switch facts?.kind {
      case .aggregate, .window, nil: true
      case .scalar, .table: false
      }
    }

    /// True if the function has the trait `isElementary`, and the call has one argument and no optional clauses.
    package var isElementary: Bool {
      guard facts?.has(.isElementary) == true, arguments.count == 1 else { return false }
      return !isDistinct && order.isEmpty && filter == nil && window == nil
    }

    package func takesPath(_ index: Int) -> Bool {
      switch facts?.constants {
      case .paths: index > 0
      case .pathsOfValues: !index.isMultiple(of: 2)
      case .nothing, .format, .allButFirst, nil: false
      }
    }

    package var lacksValue: Bool { facts?.constants == .pathsOfValues && arguments.count.isMultiple(of: 2) }

    var terms: [SqlExpression] {
      var terms = arguments + order.map(\.expression)
      if let filter { terms.append(filter) }
      if let window { terms += window.partition + window.order.map(\.expression) }
      return terms
    }
  }

  package struct WindowClause: Sendable, Hashable {
    package var partition: [SqlExpression] = []
    package var order: [OrderTerm] = []
    package var frame: WindowFrame?

    package init(partition: [SqlExpression] = [], order: [OrderTerm] = [], frame: WindowFrame? = nil) {
      (self.partition, self.order, self.frame) = (partition, order, frame)
    }
  }

  /// A subquery used as a value or a condition.
  package struct QueryTerm: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
      case scalar, exists, isIn
      /// `(SELECT count(*) FROM …)`
      case count
    }

    package let kind: Kind
    package var term: SqlExpression?
    package let query: SelectQuery

    package init(kind: Kind, term: SqlExpression? = nil, query: SelectQuery) {
      (self.kind, self.term, self.query) = (kind, term, query)
    }
  }
}

/// The rows around the current row that a window function covers.
///
/// ```swift
/// Flight.delay.average().over(orderBy: Flight.day.asc, frame: .rows(.preceding(6), .currentRow))
/// // … ROWS BETWEEN 6 PRECEDING AND CURRENT ROW
/// ```
public struct WindowFrame: Sendable, Hashable {
  package enum Unit: String, Sendable, Hashable {
    case rows, range, groups

    var sql: String { rawValue.uppercased() }
  }

  /// A bound of a frame. Running a statement with a negative number throws `.invalidStatement`.
  public enum Bound: Sendable, Hashable {
    case unboundedPreceding, currentRow, unboundedFollowing
    case preceding(Int)
    case following(Int)
  }

  /// The rows that a frame excludes. Rows that are equal in the window's order are peers.
  public enum Exclusion: String, Sendable, Hashable {
    /// No rows are excluded: `EXCLUDE NO OTHERS`, the default.
    case noOthers
    /// The current row.
    case currentRow
    /// The current row and its peers.
    case group
    /// The peers of the current row, but not the current row.
    case ties
  }

  package let unit: Unit
  package let start: Bound
  package let end: Bound
  package var exclusion = Exclusion.noOthers

  package init(unit: Unit, start: Bound, end: Bound, exclusion: Exclusion = Exclusion.noOthers) {
    (self.unit, self.start, self.end, self.exclusion) = (unit, start, end, exclusion)
  }

  /// A frame with bounds counted in rows.
  ///
  /// ```swift
  /// .rows(.preceding(1), .following(1), excluding: .currentRow)
  /// // ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW
  /// ```
  public static func rows(_ start: Bound, _ end: Bound, excluding exclusion: Exclusion = .noOthers) -> WindowFrame {
    WindowFrame(unit: .rows, start: start, end: end, exclusion: exclusion)
  }

  /// A frame whose bounds are distances from the current row's value of the ORDER BY term.
  public static func range(_ start: Bound, _ end: Bound, excluding exclusion: Exclusion = .noOthers) -> WindowFrame {
    WindowFrame(unit: .range, start: start, end: end, exclusion: exclusion)
  }

  /// A frame with bounds counted in groups of peers.
  public static func groups(_ start: Bound, _ end: Bound, excluding exclusion: Exclusion = .noOthers) -> WindowFrame {
    WindowFrame(unit: .groups, start: start, end: end, exclusion: exclusion)
  }
}
