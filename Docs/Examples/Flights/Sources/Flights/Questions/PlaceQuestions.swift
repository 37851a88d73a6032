import Sqlable

// Airports: joins with an incomplete table, set operations, and a tree of routes.

extension Question {
  static var places: [Question] { [destinationsOnTheMap, destinationsNotOnRecord, commonDestinations, routes] }

  static var destinationsOnTheMap: Question {
    let meanDelay = Flight.arrivalDelay.average()
    let map = Flight.join(Airport.self, on: Flight.destination == Airport.faa)
      .select(
        Airport.name.typed(as: String.self), Airport.latitude.typed(as: Double.self),
        Airport.longitude.typed(as: Double.self), Flight.arrivalDelay.count(), meanDelay
      )
      .groupBy(Flight.destination).orderBy(meanDelay.desc, Flight.destination.asc)
    return Question(
      "Where are flights late on arrival? (for a map of the mean delays)",
      ["airport", "latitude", "longitude", "flights", "mean delay"], map,
      byHand: """
        SELECT a.name, a.lat, a.lon, count(arr_delay), avg(arr_delay)
        FROM (SELECT dest, arr_delay FROM flight) f JOIN airport a ON a.faa = f.dest
        GROUP BY dest
        ORDER BY 5 DESC, dest
        """)
  }

  static var destinationsNotOnRecord: Question {
    let airports = Airport.select(Airport.faa.typed(as: String.self))
    let unknown = Flight.select(Flight.destination, countAll())
      .filter(Flight.destination.notIn(airports))
      .groupBy(Flight.destination).orderBy(countAll().desc, Flight.destination.asc)
    return Question(
      "Which destinations are not in the table of airports?", ["destination", "flights"], unknown,
      byHand: """
        SELECT dest, count(*)
        FROM flight LEFT JOIN airport ON faa = dest
        WHERE faa IS NULL
        GROUP BY dest
        ORDER BY 2 DESC, 1
        """)
  }

  static var commonDestinations: Question {
    func from(_ origin: String) -> Select<String> {
      Flight.select(Flight.destination).filter(Flight.origin == origin)
    }
    let (ewr, jfk, lga) = (from("EWR"), from("JFK"), from("LGA"))
    func count(_ title: String, _ query: Select<String>) -> Select<(String, Int, String?)> {
      let places = query.named(title)
      return places.read().select(TypedExpression(title), countAll(), places.column.min())
    }
    let destinations = count("any", ewr.union(jfk).union(lga))
      .unionAll(count("all three", ewr.intersect(jfk).intersect(lga)))
      .unionAll(count("EWR only", ewr.except(jfk).except(lga)))
      .unionAll(count("JFK only", jfk.except(ewr).except(lga)))
      .unionAll(count("LGA only", lga.except(ewr).except(jfk)))
    return Question(
      "How many destinations have flights from any of the airports, from all of them, from only one?",
      ["from", "destinations", "one of them"], destinations,
      byHand: """
        WITH place AS (
          SELECT dest, count(DISTINCT origin) AS airports, min(origin) AS origin FROM flight GROUP BY dest)
        SELECT 'any', count(*), min(dest) FROM place
        UNION ALL SELECT 'all three', count(*), min(dest) FROM place WHERE airports = 3
        UNION ALL SELECT 'EWR only', count(*), min(dest) FROM place WHERE airports = 1 AND origin = 'EWR'
        UNION ALL SELECT 'JFK only', count(*), min(dest) FROM place WHERE airports = 1 AND origin = 'JFK'
        UNION ALL SELECT 'LGA only', count(*), min(dest) FROM place WHERE airports = 1 AND origin = 'LGA'
        """)
  }

  static var routes: Question {
    let route = Flight.select(Flight.origin, Flight.destination, Flight.distance.min())
      .groupBy(Flight.origin, Flight.destination).named("route")
    let (start, finish, distance) = route.columns
    let root = Flight.select(Flight.origin, TypedExpression(0), TypedExpression<Int?>(0), Flight.origin).distinct()
    let tree = root.named("tree") { tree in
      let (airport, legs, miles, path) = tree.columns
      return tree.read().joining(route, on: start == airport)
        .filter(legs < 3)
        .select(finish, legs + 1, miles + distance, path.concatenated(" > ").concatenated(finish))
    }
    let (_, legs, miles, path) = tree.columns
    let routes = tree.read().select(path, legs, miles).orderBy(legs.desc, miles.desc, path.asc)
    return Question(
      "Where can one get to from New York, by way of which airports? (the tree of routes, the longest first)",
      ["path", "legs", "miles"], routes,
      byHand: """
        WITH RECURSIVE
          route (start, finish, miles) AS (SELECT origin, dest, min(distance) FROM flight GROUP BY origin, dest),
          tree (airport, legs, miles, path) AS (
            SELECT DISTINCT origin, 0, 0, origin FROM flight
            UNION ALL
            SELECT finish, legs + 1, tree.miles + route.miles, path || ' > ' || finish
            FROM tree JOIN route ON start = airport WHERE legs < 3)
        SELECT path, legs, miles FROM tree ORDER BY legs DESC, miles DESC, path
        """)
  }
}
