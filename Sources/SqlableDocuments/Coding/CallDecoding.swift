import SqlableCore

extension DocumentDecoder {
  func call(
    builtIn document: Document, _ otherMembers: [Document.Member], _ scope: Scope
  ) throws -> SqlExpression {
    let name = try text(document, "the name of a function")
    try checkFunction(name)
    if name == "countRows" { return try call(.countRows, otherMembers, scope) }
    guard let function = SqlExpression.Call.BuiltIn(rawValue: name) else {
      throw failure("unknown function")
    }
    return try call(.builtIn(function), otherMembers, scope)
  }

  func call(
    registered document: Document, _ otherMembers: [Document.Member], _ scope: Scope
  ) throws -> SqlExpression {
    let name = try self.name(document, "the name of a function")
    try checkRegistered(name)
    return try call(.named(name), otherMembers, scope)
  }

  func call(
    _ function: SqlExpression.Call.Function, _ otherMembers: [Document.Member], _ scope: Scope
  ) throws -> SqlExpression {
    var call = SqlExpression.Call(function: function, arguments: [])
    call.arguments =
      try optional("arguments", otherMembers) { documents in
        var index = 0
        return try each(list(documents, "the arguments of a function")) { document in
          defer { index += 1 }
          return call.takesPath(index) ? try path(document) : try term(document, scope)
        }
      } ?? []
    try check(call)
    call.isDistinct = try optional("distinct", otherMembers, isTrue) ?? false
    call.order = try optional("orderBy", otherMembers) { try order($0, scope) } ?? []
    call.filter = try optional("filter", otherMembers) { try term($0, scope) }
    call.window = try optional("over", otherMembers) { try window($0, scope) }
    try checkClauses(of: call)
    if let defect = SqlExpression.mixedDates(call.arguments) { throw defect.error }
    return try checkedTerm(.call(call))
  }

  private func checkClauses(of call: SqlExpression.Call) throws {
    guard call.order.isEmpty || call.takesOrder else {
      throw failure("the key \"orderBy\" needs an aggregate that depends on the row order, without a window")
    }
    guard !call.isDistinct || (call.arguments.count == 1 && call.window == nil) else {
      throw failure("only an aggregate of one argument can be distinct")
    }
    guard let kind = call.facts?.kind else { return }
    guard kind == .aggregate || (!call.isDistinct && call.filter == nil) else {
      throw failure("only an aggregate can have the key \"distinct\" or \"filter\"")
    }
    guard call.takesWindow || call.window == nil else {
      throw failure("the function can't have a window; remove the key \"over\"")
    }
    guard kind != .window || call.window != nil else { throw failure("a window function needs the key \"over\"") }
    guard kind != .table else {
      throw failure("a table function can't be used as a term; use the function in \"from\" of a query")
    }
  }

  /// Throws if the function does not accept this number of arguments, or if the arguments are known to be invalid.
  private func check(_ call: SqlExpression.Call) throws {
    var counts = call.function == .countRows ? 0...0 : 0...100
    if case .builtIn(let function) = call.function {
      counts = function.facts.arguments
      if let defect = function.defect(in: call.arguments) { throw defect.error }
    }
    guard counts.contains(call.arguments.count), !call.lacksValue else {
      throw failure("the function does not take \(call.arguments.count) arguments")
    }
    if call.facts?.constants == .format {
      guard case .value(.text) = call.arguments[0].node else {
        throw failure("the first argument of the function must be a constant text: the format")
      }
    }
  }

  private func window(_ document: Document, _ scope: Scope) throws -> SqlExpression.WindowClause {
    guard case .object(let members) = document else { throw failure("a window must be an object") }
    var window = SqlExpression.WindowClause()
    for member in members {
      enter(member.key)
      switch member.key {
      case "partitionBy": window.partition = try terms(member.value, "the terms of a partition", scope)
      case "orderBy": window.order = try order(member.value, scope)
      case "frame": window.frame = try frame(member.value)
      default: throw failure("a window has an unknown key")
      }
      leave()
    }
    return window
  }

  private func frame(_ document: Document) throws -> WindowFrame {
    guard case .object(var members) = document else { throw failure("a frame must be an object") }
    var exclusion = WindowFrame.Exclusion.noOthers
    if let index = members.firstIndex(where: { $0.key == "exclude" }) {
      enter("exclude")
      guard let excluded = WindowFrame.Exclusion(rawValue: try text(members[index].value, "the exclusion of a frame")),
        excluded != .noOthers
      else { throw failure("the exclusion of a frame must be currentRow, group or ties") }
      leave()
      exclusion = excluded
      members.remove(at: index)
    }
    guard members.count == 1, let unit = WindowFrame.Unit(rawValue: members[0].key) else {
      throw failure("a frame must be an object with the key rows, range or groups")
    }
    let bounds = try each(list(members[0].value, "a frame")) { try bound($0) }
    guard bounds.count == 2 else { throw failure("a frame must have two bounds") }
    return WindowFrame(unit: unit, start: bounds[0], end: bounds[1], exclusion: exclusion)
  }

  private func bound(_ document: Document) throws -> WindowFrame.Bound {
    switch document {
    case .text("unboundedPreceding"): return .unboundedPreceding
    case .text("currentRow"): return .currentRow
    case .text("unboundedFollowing"): return .unboundedFollowing
    case .object(let members) where members.count == 1 && members[0].key == "preceding":
      return .preceding(try integer(members[0].value, "the bound of a frame"))
    case .object(let members) where members.count == 1 && members[0].key == "following":
      return .following(try integer(members[0].value, "the bound of a frame"))
    default:
      throw failure(
        #"the bound of a frame must be "currentRow", "unboundedPreceding", "unboundedFollowing", {"preceding": n} or "#
          + #"{"following": n}"#)
    }
  }
}
