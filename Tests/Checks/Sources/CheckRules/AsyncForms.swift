/// Finds public functions that block a thread on a pool, and have no form for `async` code.
///
/// A function blocks if it throws, is not `async`, and either belongs to a pool or takes a pool, a database or an
/// executor. The form for `async` code belongs to the same type, and has the same name and labels.
public func checkAsyncForms(_ files: [SourceFile]) -> Report {
  let functions = files.filter { $0.isSwift && $0.target?.hasPrefix("Sqlable") == true }.flatMap(publicFunctions)
  let awaited = Set(functions.filter(\.isAsync).map(\.signature))
  var report = Report()
  report.declarations = functions.count
  for function in functions where function.blocks && !awaited.contains(function.signature) {
    if withoutAsyncForm.contains(function.signature) { continue }
    report.add(function.path, function.line, "\(function.signature) has no form for async code")
  }
  return report
}

/// A requirement of `SqlDatabase`, whose async forms are `read` and `transaction`; a method that waits for no call; and
/// the opening of a file.
private let withoutAsyncForm: Set = [
  "SqlitePool.withTransaction(_:file:line:_:)", "SqlitePool.releaseMemory()", "SqlitePool.inMemory(configuration:)",
]

private struct PublicFunction {
  /// The type with the name and the labels, such as `SqlitePool.backup(to:_:)`.
  let signature: String
  let path: String
  let line: Int
  let isAsync: Bool
  let blocks: Bool
}

/// The types whose methods block on a pool, with the type of their async forms.
private let blockingTypes = ["SqlitePool", "PoolArchive", "SqliteCluster"]
private let asyncTypes = ["SqlExecutor": "AsyncSqlExecutor", "SqlDatabase": "SqlitePool"]
private let blockingParameters = ["SqlitePool", "some SqlDatabase", "some SqlExecutor"]

/// The public functions of a file's types and extensions. A type begins in the first column.
private func publicFunctions(_ file: SourceFile) -> [PublicFunction] {
  var functions: [PublicFunction] = []
  var type = ""
  for (number, line) in file.lines.enumerated() {
    let words = readWords(file.code, in: line)
    if let first = file.code[line].first, first != " ",
      let keyword = words.firstIndex(where: { ["extension", "class", "struct", "enum", "protocol"].contains($0.text) }),
      keyword + 1 < words.count
    {
      type = words[keyword + 1].text
    }
    guard let keyword = words.firstIndex(where: { $0.text == "func" }), keyword + 1 < words.count,
      words[..<keyword].contains(where: { $0.text == "public" }),
      let (parameters, effects) = parts(of: file.code, after: words[keyword + 1].place.upperBound)
    else { continue }
    let labels = parameters.map { String($0.prefix { $0 != " " && $0 != ":" }) + ":" }.joined()
    let isThrowing = effects.contains("throws")
    let isAsync = effects.contains("async")
    let takesPool = parameters.contains { parameter in
      let type = parameter.drop { $0 != ":" }.dropFirst().drop { $0 == " " }
      return blockingParameters.contains { type == $0 || type.hasPrefix($0 + " ") }
    }
    let owner = asyncTypes[type] ?? type
    functions.append(
      PublicFunction(
        signature: "\(owner).\(words[keyword + 1].text)(\(labels))", path: file.path, line: number + 1,
        isAsync: isAsync,
        blocks: isThrowing && !isAsync && (takesPool || blockingTypes.contains(type) || asyncTypes[type] != nil)))
  }
  return functions
}

/// The parameters of a function, and the words between them and the body.
private func parts(of code: [UInt8], after name: Int) -> (parameters: [String], effects: [String])? {
  guard let start = code[name...].firstIndex(of: "(") else { return nil }
  var (depth, place) = (0, start)
  var parameters: [[UInt8]] = [[]]
  repeat {
    let byte = code[place]
    if "([{<".utf8.contains(byte) { depth += 1 }
    // The end of an arrow is not a bracket.
    if ")]}".utf8.contains(byte) || byte == ">" && code[place - 1] != "-" { depth -= 1 }
    if depth == 1, byte == "," {
      parameters.append([])
    } else if depth > 0, place > start {
      parameters[parameters.count - 1].append(byte)
    }
    place += 1
  } while depth > 0 && place < code.count
  let end = code[place...].firstIndex { $0 == "{" } ?? code.endIndex
  let effects = readWords(code, in: place..<end).map(\.text)
  let texts = parameters.map { bytes in
    String(decoding: bytes, as: UTF8.self).split { $0 == " " || $0 == "\n" }.joined(separator: " ")
  }
  return (texts.filter { !$0.isEmpty }, effects)
}
