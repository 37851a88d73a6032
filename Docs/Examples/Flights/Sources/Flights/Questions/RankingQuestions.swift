import Sqlable

// Rankings: ranks and other window functions, over rows and over groups.

extension Question {
  static var rankings: [Question] { [topDestinations, mostDelayedOfTheMonth, busiestHours] }

  static var topDestinations: Question {
    let ranked = Flight.select(
      Flight.carrier, Flight.destination, countAll(),
      rank().over(partitionBy: Flight.carrier, orderBy: countAll().desc)
    )
    .groupBy(Flight.carrier, Flight.destination).named("ranked")
    let (carrier, destination, flights, place) = ranked.columns
    let top = ranked.read().join(Airline.self, on: Airline.carrier == carrier)
      .select(Airline.name, place, destination, flights)
      .filter(place <= 3)
      .orderBy(Airline.name.asc, place.asc, destination.asc)
    return Question(
      "What are the three top destinations of each carrier?", ["carrier", "place", "destination", "flights"], top,
      byHand: """
        SELECT name, place, dest, flights
        FROM (
          SELECT carrier, dest, count(*) AS flights,
            rank() OVER (PARTITION BY carrier ORDER BY count(*) DESC) AS place
          FROM flight GROUP BY carrier, dest) JOIN airline USING (carrier)
        WHERE place <= 3
        ORDER BY name, place, dest
        """)
  }

  static var mostDelayedOfTheMonth: Question {
    let numbered = Flight.select(
      Flight.id, rowNumber().over(partitionBy: Flight.month, orderBy: Flight.departureDelay.desc, Flight.id.asc)
    )
    .filter(Flight.departureDelay.isNotNull).named("numbered")
    let (id, number) = numbered.columns
    let latest = Flight.select(
      Flight.month, Flight.day, Flight.carrier, Flight.number, Flight.origin, Flight.destination,
      Flight.departureDelay
    )
    .joining(numbered, on: Flight.id == id)
    .filter(number == 1)
    .orderBy(Flight.month)
    return Question(
      "Which was the most delayed flight of each month?",
      ["month", "day", "carrier", "flight", "from", "to", "delay"], latest,
      byHand: """
        SELECT month, day, carrier, flight, origin, dest, dep_delay
        FROM flight
        WHERE id IN (
          SELECT min(id)
          FROM flight JOIN (SELECT month AS worst, max(dep_delay) AS delay FROM flight GROUP BY month)
            ON month = worst AND dep_delay = delay
          GROUP BY month)
        ORDER BY month
        """)
  }

  static var busiestHours: Question {
    let busiest = Flight.scheduledHour.firstValue()
      .over(partitionBy: Flight.origin, orderBy: countAll().desc, Flight.scheduledHour.asc)
    let hours = Flight.select(Flight.origin, busiest, countAll().max().over(partitionBy: Flight.origin))
      .groupBy(Flight.origin, Flight.scheduledHour).distinct()
      .orderBy(Flight.origin)
    return Question(
      "Which hour of the day is the busiest at each airport?", ["airport", "hour", "flights"], hours,
      byHand: """
        WITH per_hour AS (SELECT origin, hour, count(*) AS flights FROM flight GROUP BY origin, hour)
        SELECT origin, min(hour), flights
        FROM per_hour p
        WHERE flights = (SELECT max(flights) FROM per_hour WHERE origin = p.origin)
        GROUP BY origin
        ORDER BY origin
        """)
  }
}
