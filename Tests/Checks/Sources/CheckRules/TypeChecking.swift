import Foundation

/// Code of `Tests/TypeChecking`, with the compiler's verdict that is expected of each line.
///
/// A line that says `// refused: words` has to be refused, with one error, which contains these words.
/// `// refused among others: words` expects the words in one of several errors, because their order changes from run to
/// run. `// warned: words` expects one warning. Every other line has to compile without errors and warnings.
///
/// A valid line may take 200 ms, a line with an expected diagnostic 1.5 s. The compiler measures processor time. A busy
/// machine still makes a line slow, so only a line that is slow in three tries is a problem.
public struct Snippets: Sendable {
  struct Place: Hashable {
    let file: String
    let line: Int
  }
  /// The diagnostic that a line's comment expects.
  struct Expectation {
    let kind: String
    let words: String
    /// True if the line may have further diagnostics.
    let isAmongOthers: Bool
  }
  private var expected: [Place: Expectation] = [:]

  /// How many lines have to compile, and how many have to be refused.
  public private(set) var valid = 0
  public var refused: Int { expected.count }

  /// The files as they are compiled.
  private(set) var texts: [String: String] = [:]
  static let folder = "Tests/TypeChecking/"

  public init(_ files: [SourceFile]) {
    for file in files where file.path.hasPrefix(Self.folder) {
      let name = String(file.path.dropFirst(Self.folder.count))
      texts[name] = split(name, file)
    }
  }

  /// So that no error hides another, makes each line of a function a function of its own. Lines keep their numbers.
  private mutating func split(_ name: String, _ file: SourceFile) -> String {
    var head: Substring?
    var result = ""
    for (number, line) in file.lines.enumerated() {
      let text = file.text(line)
      let place = Place(file: name, line: number + 1)
      var own = text
      if text.hasPrefix("func ") {
        head = text.prefix { $0 != "{" }
        own = ""
      } else if text.hasPrefix("}"), head != nil {
        head = nil
        own = ""
      } else if let head, let parenthesis = head.firstIndex(of: "("), text.hasPrefix("  "),
        let first = text.dropFirst(2).first, first != " ", first != "/"
      {
        let (code, comment) = Self.parts(of: text)
        own = "\(head[..<parenthesis])_\(number + 1)\(head[parenthesis...]){ \(code) }"
        if comment == nil { valid += 1 }
      }
      if let comment = Self.parts(of: text).comment { expected[place] = comment }
      result += own + "\n"
    }
    return result
  }

  /// The code of a line, and the diagnostic that its comment expects.
  private static func parts(of line: String) -> (code: Substring, comment: Expectation?) {
    let marks = [
      ("// refused: ", "error", false), ("// refused among others: ", "error", true), ("// warned: ", "warning", false),
    ]
    for (mark, kind, isAmongOthers) in marks {
      if let found = line.range(of: mark) {
        let words = String(line[found.upperBound...])
        return (line[..<found.lowerBound], Expectation(kind: kind, words: words, isAmongOthers: isAmongOthers))
      }
    }
    return (line[...], nil)
  }

  /// Compares the compiler's diagnostics, one log for each try, with those that are expected.
  ///
  /// Diagnostics are the same every time and are read from the first log; a line is slow if every log says so.
  public func judge(_ logs: [String]) -> (report: Report, isOnlySlow: Bool) {
    var report = Report()
    func bad(_ place: Place, _ text: String) { report.add(Self.folder + place.file, place.line, text) }
    var said: [Place: Int] = [:]
    for line in logs.first?.split(separator: "\n") ?? [] {
      guard let (place, kind, text) = Self.diagnostic(line) else {
        if line.hasPrefix("error: ") || line.hasPrefix("<unknown>:0: error: ") {
          report.add(Self.folder, 0, String(line))
        }
        continue
      }
      if text.contains(/\ took \d+ms/) { continue }
      guard let expectation = expected[place] else {
        bad(place, "does not compile: \(text)")
        continue
      }
      if expectation.isAmongOthers, said[place] != nil || !text.contains(expectation.words) { continue }
      if text.contains(/failed to produce diagnostic|unable to type-check|'SelectQuery|τ_/) {
        bad(place, "says nothing to a user: \(text)")
      }
      guard kind == expectation.kind else {
        bad(place, "another kind of diagnostic: \(text)")
        continue
      }
      said[place, default: 0] += 1
      if !text.contains(expectation.words) { bad(place, "not with '\(expectation.words)': \(text)") }
    }
    for place in expected.keys where said[place] != 1 { bad(place, "\(said[place] ?? 0) diagnostics instead of one") }
    let isOnlySlow = report.problems.isEmpty

    let times = logs.map(Self.times)
    var slowest: [Bool: (time: Int, place: Place)] = [:]
    for place in Set(times.flatMap(\.keys)) {
      let time = times.map { $0[place] ?? 0 }.min() ?? 0
      let isRefused = expected[place] != nil
      if time > (isRefused ? 1500 : 200) { bad(place, "too slow: \(time) ms") }
      if time > slowest[isRefused]?.time ?? 0 { slowest[isRefused] = (time, place) }
      if place.file.hasPrefix("Long") {
        report.notes.append("\(place.file):\(place.line): \(time) ms\(isRefused ? ", refused" : "")")
      }
    }
    report.notes.sort { $0.localizedStandardCompare($1) == .orderedAscending }
    report.notes.append("\(refused) lines are refused, \(valid) compile")
    for (isRefused, what) in [(false, "compiles"), (true, "is refused")] {
      guard let (time, place) = slowest[isRefused] else { continue }
      report.notes.append("the slowest that \(what) is \(place.file):\(place.line), \(time) ms")
    }
    report.problems.sort { ($0.path, $0.line) < ($1.path, $1.line) }
    return (report, isOnlySlow)
  }

  /// The time of each line: that of its function, which includes the search for the errors, or of an expression.
  private static func times(_ log: String) -> [Place: Int] {
    var times: [Place: Int] = [:]
    for line in log.split(separator: "\n") where line.hasSuffix(" to type-check (limit: 1ms)") {
      guard let (place, _, text) = diagnostic(line), let took = text.range(of: " took ", options: .backwards),
        let time = Int(text[took.upperBound...].prefix { $0 != "m" })
      else { continue }
      times[place] = max(times[place] ?? 0, time)
    }
    return times
  }

  /// Reads "File.swift:5:12: error: text".
  private static func diagnostic(_ line: Substring) -> (place: Place, kind: String, text: Substring)? {
    let parts = line.split(separator: ":", maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 5, parts[0].hasSuffix(".swift"), let number = Int(parts[1]),
      parts[3] == " error" || parts[3] == " warning"
    else { return nil }
    let file = parts[0].split(separator: "/").last ?? ""
    return (Place(file: String(file), line: number), String(parts[3].dropFirst()), parts[4].dropFirst())
  }
}

extension Repository {
  /// Type-checks the snippets against the library's modules, up to three times while lines are only slow.
  public func checkTypes(_ snippets: Snippets, modules: String) throws -> Report {
    let folder = FileManager.default.temporaryDirectory.appending(path: "snippets-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (name, text) in snippets.texts { try Data(text.utf8).write(to: folder.appending(path: name)) }
    let map = root.appending(path: "Sources/CSqlableSystemSQLite/module.modulemap").path(percentEncoded: false)
    var logs: [String] = []
    while true {
      logs.append(
        try output(
          of: ["swiftc", "-typecheck", "-wmo", "-swift-version", "6", "-diagnostic-style", "llvm"]
            + ["-I", URL(filePath: modules).path(percentEncoded: false), "-Xcc", "-fmodule-map-file=\(map)"]
            + snippets.texts.keys.sorted() + ["-Xfrontend", "-warn-long-expression-type-checking=1"]
            + ["-Xfrontend", "-warn-long-function-bodies=1"],
          in: folder, alsoErrors: true))
      let (report, isOnlySlow) = snippets.judge(logs)
      if report.problems.isEmpty || !isOnlySlow || logs.count == 3 { return report }
    }
  }
}
