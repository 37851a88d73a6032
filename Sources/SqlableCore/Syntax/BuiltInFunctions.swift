extension SqlExpression.Call {
  /// SQLite's functions; the raw values are the functions' names in documents. To add a function, add a case, a row in
  /// `facts`, and the typed and untyped methods in a folder `Terms` (of `SqlableQueries` or `SqlableCore/Language`).
  package enum BuiltIn: String, Sendable, Hashable, CaseIterable {
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
    case jsonValid = "json_valid"
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
    // Mathematical functions: available from SQLite 3.35 on, if SQLite was built with them.
    case acos, acosh, asin, asinh, atan, atan2, atanh, ceil, cos, cosh, degrees, exp, floor, ln, log, log10, log2, mod
    case pi, pow, radians, sign, sin, sinh, sqrt, tan, tanh, trunc
    case scalarMin, scalarMax

    package var name: String {
      switch self {
      case .scalarMin: "min"
      case .scalarMax: "max"
      default: rawValue
      }
    }
  }
}

extension SqlExpression.Call.BuiltIn {
  package var facts: Facts {
    switch self {
    case .count: .init(.aggregate, 1...1, .integer, .never, [.neverThrows, .takesDecimals])
    case .sum: .init(.aggregate, 1...1, .scaled, .never, .takesNumbers)
    case .total, .avg: .init(.aggregate, 1...1, .other, .never, [.neverThrows, .takesNumbers])
    case .min, .max: .init(.aggregate, 1...1, .ofRow, .never, .neverThrows)
    case .groupConcat: .init(.aggregate, 1...2, .other, .never, .takesOrder)
    case .jsonGroupArray: .init(.aggregate, 1...1, .other, .never, [.takesOrder, .json])
    case .jsonGroupObject: .init(.aggregate, 2...2, .other, .never, [.takesOrder, .json])

    case .rowNumber: .init(.window, 0...0, .integer, .never)
    case .rank, .denseRank: .init(.window, 0...0, .integer, .never, .equalForPeers)
    case .percentRank, .cumeDist: .init(.window, 0...0, .other, .never, .equalForPeers)
    case .ntile: .init(.window, 1...1, .integer, .never)
    case .lag, .lead: .init(.window, 1...3, .ofRow, .perhapsWithFirst)
    case .firstValue, .lastValue: .init(.window, 1...1, .ofRow, .perhapsWithFirst)
    case .nthValue: .init(.window, 2...2, .ofRow, .perhapsWithFirst)

    case .lower, .upper: .init(.scalar, 1...1, .other, .withAny, [.neverThrows, .isElementary])
    case .length: .init(.scalar, 1...1, .integer, .withAny, [.neverThrows, .isElementary])
    case .unicode: .init(.scalar, 1...1, .integer, .withAny, .neverThrows)
    case .abs: .init(.scalar, 1...1, .scaled, .withAny, .isElementary)
    case .hex: .init(.scalar, 1...1, .other, .never)
    case .typeof: .init(.scalar, 1...1, .other, .never, [.neverThrows, .takesDecimals])
    case .random: .init(.scalar, 0...0, .other, .never, [.neverThrows, .varies])
    case .round: .init(.scalar, 1...2, .other, .withAny, .neverThrows, .allButFirst)
    case .substr: .init(.scalar, 2...3, .other, .withAny, .neverThrows, .allButFirst)
    case .trim, .ltrim, .rtrim:
      .init(.scalar, 1...2, .other, .withAny, [.neverThrows, .multipliesLengths], .allButFirst)
    case .instr: .init(.scalar, 2...2, .integer, .withAny, [.neverThrows, .multipliesLengths])
    case .replace: .init(.scalar, 3...3, .other, .withAny, .multipliesLengths)
    case .printf: .init(.scalar, 1...100, .other, .withFirst, [], .format)
    case .coalesce: .init(.scalar, 2...100, .ofArguments, .withAll, .neverThrows)
    case .scalarMin, .scalarMax: .init(.scalar, 2...100, .ofArguments, .withAny, .neverThrows)
    case .nullif: .init(.scalar, 2...2, .ofArguments, .withFirstOrOtherwise, .neverThrows)

    case .json: .init(.scalar, 1...1, .other, .withAny, .json)
    case .jsonExtract, .jsonType: .init(.scalar, 1...2, .other, .withFirstOrOtherwise, .json, .paths)
    case .jsonArrayLength: .init(.scalar, 1...2, .integer, .withFirstOrOtherwise, .json, .paths)
    // For NULL, `json_valid` returns NULL since SQLite 3.45, and 0 before.
    case .jsonValid: .init(.scalar, 1...1, .integer, .perhapsWithFirst, .json)
    case .jsonObject, .jsonArray: .init(.scalar, 0...100, .other, .never, .json)
    case .jsonEach, .jsonTree: .init(.table, 1...2, .other, .never, .json, .paths)
    case .jsonSet, .jsonInsert, .jsonReplace: .init(.scalar, 3...99, .other, .withFirst, .json, .pathsOfValues)
    case .jsonRemove: .init(.scalar, 2...100, .other, .withAny, .json, .paths)
    case .jsonPatch: .init(.scalar, 2...2, .other, .withAny, [.multipliesLengths, .json])

    case .pi: .init(.scalar, 0...0, .other, .withAny, [.neverThrows, .takesNumbers])
    case .acos, .acosh, .asin, .asinh, .atan, .atanh, .ceil, .cos, .cosh, .degrees, .exp, .floor, .ln, .log10, .log2,
      .radians, .sign, .sin, .sinh, .sqrt, .tan, .tanh, .trunc:
      .init(.scalar, 1...1, .other, .withAny, [.neverThrows, .takesNumbers])
    case .log: .init(.scalar, 1...2, .other, .withAny, [.neverThrows, .takesNumbers])
    case .atan2, .mod, .pow: .init(.scalar, 2...2, .other, .withAny, [.neverThrows, .takesNumbers])
    }
  }

  package struct Facts {
    package let kind: Kind
    /// The number of arguments that a decoded statement can pass.
    package let arguments: ClosedRange<Int>
    let result: Result
    let nulls: Nulls
    let traits: Traits
    package let constants: Constants

    package enum Kind { case scalar, aggregate, window, table }

    package enum Result {
      case other, integer
      /// A number with the scale of the argument, such as a sum.
      case scaled
      case ofArguments
      /// The value of the first argument in one of the rows, as for `max` and `lag`. The second argument, if any, is a
      /// number of rows, or the position of a row. The third argument, if any, is the default.
      case ofRow
    }

    package enum Nulls {
      case never, withAny, withAll, withFirst
      /// NULL if the first argument is NULL, and in some other cases.
      case withFirstOrOtherwise
      /// Possibly NULL if the first argument is NULL.
      case perhapsWithFirst
    }

    /// The arguments that configure the function. The SQL contains these arguments as literals.
    package enum Constants {
      case nothing, format
      case allButFirst
      /// All arguments except the first are paths within JSON.
      case paths
      /// Paths within JSON, each followed by its value.
      case pathsOfValues
    }

    package struct Traits: OptionSet {
      package let rawValue: UInt16
      package init(rawValue: UInt16) { self.rawValue = rawValue }

      /// A JSON function. SQLite reports an error for text that is not JSON.
      package static var json: Traits { Traits(rawValue: 1) }
      /// The function never fails, not even because its result is too long.
      package static var neverThrows: Traits { Traits(rawValue: 2) }
      /// The function expects numbers: SQLite would treat text as 0 or NULL.
      static var takesNumbers: Traits { Traits(rawValue: 4) }
      /// The function accepts decimals, although its result is not a decimal.
      static var takesDecimals: Traits { Traits(rawValue: 8) }
      /// An aggregate whose result depends on the order of its rows.
      package static var takesOrder: Traits { Traits(rawValue: 16) }
      /// The window function returns the same result for all peers. Peers are rows that are equal in the window's
      /// order.
      package static var equalForPeers: Traits { Traits(rawValue: 32) }
      /// The function's run time grows with the product of the lengths of its first two arguments.
      package static var multipliesLengths: Traits { Traits(rawValue: 64) }
      /// The function can return a different result for each call.
      package static var varies: Traits { Traits(rawValue: 128) }
      /// A function of one argument that every SQLite version has. The result depends only on the argument.
      static var isElementary: Traits { Traits(rawValue: 256) }
    }

    init(
      _ kind: Kind, _ arguments: ClosedRange<Int>, _ result: Result, _ nulls: Nulls, _ traits: Traits = [],
      _ constants: Constants = .nothing
    ) {
      (self.kind, self.arguments, self.result, self.nulls) = (kind, arguments, result, nulls)
      (self.traits, self.constants) = (traits, constants)
    }

    package func has(_ trait: Traits) -> Bool { traits.contains(trait) }
  }
}
