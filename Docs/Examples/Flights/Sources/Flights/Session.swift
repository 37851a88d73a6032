import Foundation
import Sqlable

/// One run of the program: opens the database, imports the files, prints a report and the answers, and closes.
struct Session {
  let options: Options

  func run() throws {
    // The file first: if it can't be read, the database is not touched.
    let path = try options.flightsPath ?? DataFiles.path(of: DataFiles.flights)
    let files = DataFiles(flightsPath: options.flightsPath)
    let flights = try open(Flight.self, at: path)
    let place = try DatabasePlace(path: options.databasePath)
    defer { place.remove() }
    let db = try place.open()
    let replaced = try prepareTables(db)
    print("Importing \(options.flightsPath ?? "the flights of January 2013, which come with the program")")
    if !files.ownNames.isEmpty { print("with \(files.ownNames.joined(separator: ", ")) beside it") }
    print("into \(place.path)" + (place.isTemporary ? ", which is removed at the end" : ""))
    if replaced > 0 { print("where the \(replaced.grouped) flights of an earlier import are replaced") }

    var report = ImportReport(results: try importReferences(from: files, into: db))
    let background = try importFlights(from: flights, into: db, &report)
    printSection("Imported" + Session.buildNote, report.lines)
    if let result = report.results.last, let failure = result.failure {
      throw ImportStopped(path: failure is SqlError ? place.path : path, rows: result.rows, failure: failure)
    }
    if options.asksQuestions {
      try ask(db)
    } else {
      printSection("Read on a child handle during the import", background)
      for answer in try Overview(db: db).answers() { printSection(answer.question, answer.lines, sql: answer.sql) }
      printSection("Notifications of an observer of the flights", try ObserverDemonstration(db: db).lines())
    }
    try db.close()
  }
}

extension Session {
  #if DEBUG
  /// Figures of a debug build say little about the library.
  private static let buildNote = " (debug build; about ten times as fast with `swift run -c release`)"
  #else
  private static let buildNote = ""
  #endif

  /// Creates the tables, or empties those of an earlier run; returns the number of flights deleted.
  private func prepareTables(_ db: SqliteDatabase) throws -> Int {
    try db.transaction { db in
      try db.createTable(Airline.self)
      try db.createTable(Airport.self)
      try db.createTable(Plane.self)
      try db.createTable(Weather.self)
      try db.createTable(Flight.self)
      // The flights refer to the airlines, so they are deleted first.
      let flights = try Flight.deleteAll().run(db)
      try Weather.deleteAll().run(db)
      try Plane.deleteAll().run(db)
      try Airport.deleteAll().run(db)
      try Airline.deleteAll().run(db)
      return flights
    }
  }

  /// Imports the tables that the flights refer to.
  private func importReferences(from files: DataFiles, into db: SqliteDatabase) throws -> [ImportResult] {
    func importFile<Model: CSVModel>(_ model: Model.Type, _ name: String) throws -> ImportResult {
      let path = try files.path(of: name)
      let result = Importer(db: db).run(model, from: try open(model, at: path))
      if let failure = result.failure { throw ImportStopped(path: path, rows: result.rows, failure: failure) }
      return result
    }
    return [
      try importFile(Airline.self, DataFiles.airlines),
      try importFile(Airport.self, DataFiles.airports),
      try importFile(Plane.self, DataFiles.planes),
      try importFile(Weather.self, DataFiles.weather),
    ]
  }

  /// Answers the twenty questions. Throws if a statement and its hand-written SQL give different answers.
  private func ask(_ db: SqliteDatabase) throws {
    var differing: [Int] = []
    for (index, question) in Question.all.enumerated() {
      let comparison = try question.compare(db)
      printSection("\(index + 1). \(question.title)", comparison.lines(of: question, count: 5))
      if comparison.difference != nil { differing.append(index + 1) }
    }
    guard differing.isEmpty else { throw AnswersDiffer(questions: differing) }
    print("\nAll \(Question.all.count) statements give the same answers as the SQL written by hand.")
  }

  /// Imports the flights while a child handle reads them; returns the findings of the child.
  private func importFlights(
    from flights: consuming sending CSVReader<Flight.CSV>, into db: SqliteDatabase, _ report: inout ImportReport
  ) throws -> [String] {
    let reader = try BackgroundReader(besides: db)
    var committed: Set<Int> = []
    let result = Importer(db: db, policy: options.errorPolicy).run(Flight.self, from: flights) { committed.insert($0) }
    report.results.append(result)
    return reader.stop().lines(committed: committed, in: result.duration)
  }

  /// Opens a file; its errors name it.
  private func open<Model: CSVModel>(_ model: Model.Type, at path: String) throws -> sending CSVReader<Model.CSV> {
    do {
      return try CSVReader<Model.CSV>.open(path)
    } catch {
      throw FileProblem(path: path, error)
    }
  }

  private func printSection(_ title: String, _ lines: [String], sql: String? = nil) {
    guard !lines.isEmpty else { return }
    print("\n\(title)")
    for line in lines { print(line) }
    if let sql {
      for line in sql.wrapped(to: 100) { print("    \(line)") }
    }
  }
}

/// An import that ended before the end of its file.
struct ImportStopped: Error, CustomStringConvertible {
  var path: String
  var rows: Int
  var failure: any Error

  var description: String {
    let stored = rows == 0 ? "Nothing of it is stored." : "The \(rows.grouped) rows before it are stored."
    return "\(FileProblem(path: path, failure))\nThe import stopped there. \(stored)"
  }
}

/// Questions for which a statement and its hand-written SQL give different answers.
struct AnswersDiffer: Error, CustomStringConvertible {
  var questions: [Int]

  var description: String {
    "statement and hand-written SQL differ in question \(questions.map(String.init).joined(separator: ", "))"
  }
}
