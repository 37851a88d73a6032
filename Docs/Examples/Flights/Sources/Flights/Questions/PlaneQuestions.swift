import Sqlable

// Planes: joins, an anti-join, and running totals until the first long delay.

extension Question {
  static var planes: [Question] {
    [worstPlanes, planesNotOnRecord, ageAndDelay, planesOfSeveralCarriers, flightsBeforeALongDelay]
  }

  static var worstPlanes: Question {
    let meanDelay = Flight.arrivalDelay.average()
    let worst = Flight.leftJoin(Plane.self, on: Flight.tailnum == Plane.tailnum)
      .select(Flight.tailnum, Plane.manufacturer.typed(as: String?.self), Flight.arrivalDelay.count(), meanDelay)
      .filter(Flight.tailnum.isNotNull)
      .groupBy(Flight.tailnum).having(Flight.arrivalDelay.count() >= 20)
      .orderBy(meanDelay.desc, Flight.tailnum.asc)
    return Question(
      "Which plane has the worst on-time record, of those with 20 flights or more?",
      ["tail number", "made by", "flights", "mean delay"], worst,
      byHand: """
        SELECT f.tailnum, p.manufacturer, count(arr_delay), avg(arr_delay) AS delay
        FROM flight f LEFT JOIN plane p ON p.tailnum = f.tailnum
        WHERE f.tailnum IS NOT NULL
        GROUP BY f.tailnum HAVING count(arr_delay) >= 20
        ORDER BY delay DESC, f.tailnum
        """)
  }

  static var planesNotOnRecord: Question {
    let known = Plane.read().filter(Plane.tailnum == Flight.tailnum)
    let unknown = Flight.join(Airline.self, on: Flight.carrier == Airline.carrier)
      .select(Airline.name, Flight.tailnum.count(distinct: true), countAll())
      .filter(Flight.tailnum.isNotNull && !exists(known))
      .groupBy(Airline.carrier).orderBy(countAll().desc, Airline.name.asc)
    return Question(
      "Whose planes are not in the table of planes?", ["carrier", "planes", "flights"], unknown,
      byHand: """
        SELECT a.name, count(DISTINCT f.tailnum), count(*)
        FROM flight f JOIN airline a USING (carrier) LEFT JOIN plane p ON p.tailnum = f.tailnum
        WHERE f.tailnum IS NOT NULL AND p.tailnum IS NULL
        GROUP BY a.carrier
        ORDER BY 3 DESC, 1
        """)
  }

  static var ageAndDelay: Question {
    let age = (Flight.year - Plane.year.typed(as: Int.self)).least(25)
    let ages = Flight.join(Plane.self, on: Flight.tailnum == Plane.tailnum)
      .select(age, Flight.tailnum.count(distinct: true), countAll(), Flight.departureDelay.average())
      .filter(Plane.year.isNotNull)
      .groupBy(age).orderBy(age)
    return Question(
      "Are old planes late more often? (25 stands for 25 years and more)",
      ["age", "planes", "flights", "mean delay"], ages,
      byHand: """
        SELECT min(f.year - p.year, 25) AS age, count(DISTINCT tailnum), count(*), avg(dep_delay)
        FROM flight f JOIN plane p USING (tailnum)
        WHERE p.year IS NOT NULL
        GROUP BY age
        ORDER BY age
        """)
  }

  static var planesOfSeveralCarriers: Question {
    let carriers = Flight.carrier.count(distinct: true)
    let planes = Flight.select(Flight.tailnum, carriers, Flight.carrier.min(), Flight.carrier.max(), countAll())
      .filter(Flight.tailnum.isNotNull)
      .groupBy(Flight.tailnum).having(carriers > 1)
      .orderBy(countAll().desc, Flight.tailnum.asc)
    return Question(
      "Which planes were flown by more than one carrier?",
      ["tail number", "carriers", "one", "another", "flights"], planes,
      byHand: """
        SELECT tailnum, count(DISTINCT carrier), min(carrier), max(carrier), count(*)
        FROM flight
        WHERE tailnum IS NOT NULL
        GROUP BY tailnum HAVING count(DISTINCT carrier) > 1
        ORDER BY count(*) DESC, tailnum
        """)
  }

  static var flightsBeforeALongDelay: Question {
    let delays = Case.when(Flight.departureDelay > 60, then: 1).else(0).sum()
    let untilThen = Window(partitionBy: Flight.tailnum, orderBy: Flight.timeHour.asc, Flight.id.asc)
    let soFar = Flight.select(Flight.tailnum, delays.over(untilThen), Flight.distance.sum().over(untilThen))
      .filter(Flight.tailnum.isNotNull && Flight.departureDelay.isNotNull)
      .named("so_far")
    let (plane, delaysSoFar, miles) = soFar.columns
    let planes = soFar.read()
      .select(plane, countAll(), miles.max())
      .filter(delaysSoFar == 0)
      .groupBy(plane)
      .orderBy(countAll().desc, plane.asc)
    return Question(
      "How many flights, and miles, has each plane behind it before it is first late by more than an hour?",
      ["tail number", "flights", "miles"], planes,
      byHand: """
        SELECT f.tailnum, count(*), sum(distance)
        FROM flight f LEFT JOIN (
          SELECT tailnum, time_hour, min(id) AS id FROM (
            SELECT tailnum, time_hour, id, min(time_hour) OVER (PARTITION BY tailnum) AS first
            FROM flight WHERE dep_delay > 60)
          WHERE time_hour = first GROUP BY tailnum) late ON late.tailnum = f.tailnum
        WHERE f.tailnum IS NOT NULL AND dep_delay IS NOT NULL
          AND (late.id IS NULL OR (f.time_hour, f.id) < (late.time_hour, late.id))
        GROUP BY f.tailnum
        ORDER BY 2 DESC, 1
        """)
  }
}
