import Foundation
import Sqlable

/// An overview of the flights, with structs, counts, groups and raw SQL.
struct Overview {
  let db: SqliteDatabase

  struct Answer {
    var question: String
    var lines: [String]
    /// The SQL of the statement, if it is to be shown.
    var sql: String?
  }

  func answers() throws -> [Answer] {
    guard try Flight.exists().run(db) else { return [] }
    return try [busiestDestinations(), worstDelays(), busiestPlane(), counts(), firstDay()].compactMap(\.self)
  }
}

extension Overview {
  func busiestDestinations(count: Int = 5) throws -> Answer {
    // A left join, since four destinations are not in the table of airports.
    let busiest = Flight.leftJoin(Airport.self, on: Flight.destination == Airport.faa)
      .select(Flight.destination, Airport.name.typed(as: String?.self), countAll())
      .groupBy(Flight.destination).orderBy(countAll().desc, Flight.destination.asc).limit(count)
    var table = TextTable(.left, .left, .right)
    for (code, name, flights) in try busiest.run(db) {
      table.add(code, name ?? "(not in the table)", flights.grouped)
    }
    return Answer(question: "The busiest destinations", lines: table.lines)
  }

  /// The worst delays of the airline with the most flights.
  func worstDelays(count: Int = 5) throws -> Answer? {
    let carriers = try db.query(
      "SELECT carrier FROM flight GROUP BY carrier ORDER BY count(*) DESC, carrier LIMIT 1", as: String.self)
    guard let carrier = carriers.first, let airline = try Airline.byId(carrier).run(db) else { return nil }

    let statement = Flight.read()
      .filter(Flight.carrier == carrier)
      .filter(Flight.departureDelay.isNotNull)
      .orderBy(Flight.departureDelay, .desc)
      .limit(count)
    var table = TextTable(.left, .left, .left, .right)
    for flight in try statement.run(db) {
      table.add(
        flight.date, "\(flight.carrier)\(flight.number)", "\(flight.origin)–\(flight.destination)",
        flight.departureDelay.map { "\($0.grouped) min late" } ?? "")
    }
    return Answer(question: "The worst delays of \(airline.name)", lines: table.lines, sql: statement.sql)
  }

  func busiestPlane() throws -> Answer? {
    let tailnums = try db.query(
      """
      SELECT tailnum FROM flight WHERE tailnum IN (SELECT tailnum FROM plane)
      GROUP BY tailnum ORDER BY count(*) DESC, tailnum LIMIT 1
      """, as: String.self)
    guard let tailnum = tailnums.first, let plane = try Plane.byId(tailnum).run(db) else { return nil }
    let ofPlane = Flight.read().filter(Flight.tailnum == tailnum)
    let first = try ofPlane.orderBy(Flight.timeHour).first().run(db)
    let last = try ofPlane.orderBy(Flight.timeHour, .desc).first().run(db)
    var miles = 0
    try ofPlane.filter(Flight.arrival.isNotNull).forEach(db) { miles += $0.distance }

    var table = TextTable(.left, .left)
    table.add("plane", "\(plane.manufacturer) \(plane.model), \(plane.seats) seats")
    table.add("built", plane.year.map(String.init) ?? "in a year not on record")
    table.add("flights", try Flight.count().filter(Flight.tailnum == tailnum).run(db).grouped)
    table.add("miles flown", miles.grouped)
    table.add("first and last", [first, last].compactMap { $0?.date }.joined(separator: " and "))
    return Answer(question: "The busiest known plane, \(tailnum)", lines: table.lines)
  }

  func counts() throws -> Answer {
    let all = try Flight.count().run(db)
    let tailnums: [String?] = try Plane.read().run(db).map(\.tailnum)
    var table = TextTable(.left, .right, .right)
    func add(_ what: String, _ statement: Statement<Flight, Int>) throws {
      let count = try statement.run(db)
      table.add(what, count.grouped, "\(count * 100 / max(all, 1)) %")
    }
    try add("were cancelled", Flight.count().filter(!Flight.departure))
    try add(
      "left, but did not reach their destination",
      Flight.count().filter(Flight.departure.isNotNull && Flight.arrival.isNull))
    try add(
      "left late, but arrived on time",
      Flight.count().filter(Flight.departureDelay > 0 && Flight.arrivalDelay <= 0))
    // One parameter, however many planes: the list is bound as one value.
    try add(
      "were of a plane that is not in the table",
      Flight.count().filter(Flight.tailnum.isNotNull && Flight.tailnum.notIn(tailnums)))
    try add("have no tail number on record", Flight.count().filter(Flight.tailnum.isNull))
    return Answer(question: "Of \(all.grouped) flights", lines: table.lines)
  }

  func firstDay() throws -> Answer? {
    let departed = Flight.read().filter(Flight.departure.isNotNull)
    let earliest = departed.orderBy(Flight.timeHour).orderBy(Flight.departure).first()
    guard let first = try earliest.run(db) else { return nil }
    let nextDay = first.timeHour.addingTimeInterval(86_400)
    let day = Flight.timeHour >= first.timeHour && Flight.timeHour < nextDay
    let isLate = try Flight.exists().filter(day && Flight.departureDelay >= 12 * 60).run(db)
    var table = TextTable(.left, .left)
    table.add("the first to leave", "\(first.carrier)\(first.number) to \(first.destination) on \(first.date)")
    table.add("in 24 hours from then", "\(try Flight.count().filter(day).run(db).grouped) flights")
    table.add("one of them half a day late", isLate ? "yes" : "no")
    return Answer(question: "How it began", lines: table.lines)
  }
}

extension Flight {
  fileprivate var date: String {
    func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(year)-\(padded(month))-\(padded(day))"
  }
}
