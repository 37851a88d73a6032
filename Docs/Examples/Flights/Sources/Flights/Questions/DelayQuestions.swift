import Sqlable

// Delays: filters, groups and aggregates with conditions.

extension Question {
  static var delays: [Question] { [lateAllTheSame, carriersByDelay, cancelledPerDay, shareOfEachCarrier] }

  static var lateAllTheSame: Question {
    let late = Flight.read()
      .filter(Flight.arrivalDelay > 120 && Flight.departureDelay <= 0)
      .orderBy(Flight.arrivalDelay, .desc).orderBy(Flight.id)
    return Question(
      "Which flights arrived more than two hours late, but did not leave late?",
      [
        Flight.month.column, Flight.day.column, Flight.carrier.column, Flight.number.column, Flight.origin.column,
        Flight.destination.column, Flight.departureDelay.column, Flight.arrivalDelay.column,
      ], late,
      byHand: "SELECT * FROM flight WHERE arr_delay > 120 AND dep_delay <= 0 ORDER BY arr_delay DESC, id")
  }

  static var carriersByDelay: Question {
    let meanDelay = Flight.arrivalDelay.average()
    let carriers = Flight.join(Airline.self, on: Flight.carrier == Airline.carrier)
      .select(Airline.name, Flight.arrivalDelay.count(), meanDelay)
      .groupBy(Airline.carrier).orderBy(meanDelay.desc, Airline.name.asc)
    return Question(
      "Which carrier has the worst mean delay?", ["carrier", "flights", "mean delay"], carriers,
      byHand: """
        SELECT name, count(arr_delay), avg(arr_delay)
        FROM flight JOIN airline USING (carrier)
        GROUP BY carrier
        ORDER BY 3 DESC, 1
        """)
  }

  static var cancelledPerDay: Question {
    let cancelled = countAll(where: Flight.departure.isNull)
    let share = cancelled.cast(to: Double.self) * 100 / countAll().cast(to: Double.self)
    let days = Flight.select(
      Flight.month, Flight.day, countAll(), cancelled, share, Flight.departureDelay.average()
    )
    .groupBy(Flight.month, Flight.day).orderBy(share.desc, Flight.month.asc, Flight.day.asc)
    return Question(
      "On which days were most flights cancelled, and how late were the others?",
      ["month", "day", "flights", "cancelled", "per cent", "mean delay"], days,
      byHand: """
        SELECT month, day, count(*), sum(dep_time IS NULL), avg(dep_time IS NULL) * 100, avg(dep_delay)
        FROM flight
        GROUP BY month, day
        ORDER BY sum(dep_time IS NULL) * 1.0 / count(*) DESC, month, day
        """)
  }

  static var shareOfEachCarrier: Question {
    let ofAirport = countAll().total().over(partitionBy: Flight.origin)
    let shares = Flight.select(
      Flight.origin, Flight.carrier, countAll(), countAll().cast(to: Double.self) * 100 / ofAirport
    )
    .groupBy(Flight.origin, Flight.carrier).orderBy(Flight.origin.asc, countAll().desc, Flight.carrier.asc)
    return Question(
      "What share of the flights from each airport has each carrier?",
      ["airport", "carrier", "flights", "per cent"], shares,
      byHand: """
        SELECT origin, carrier, count(*), count(*) * 100.0 / whole
        FROM flight JOIN (SELECT origin AS airport, count(*) AS whole FROM flight GROUP BY origin) ON origin = airport
        GROUP BY origin, carrier
        ORDER BY origin, count(*) DESC, carrier
        """)
  }
}
