import Sqlable

// Sequences of rows: rolling means, and the previous row.

extension Question {
  static var sequences: [Question] { [rollingDelay, delayOfTheFlightBefore] }

  static var rollingDelay: Question {
    let rolling = Flight.departureDelay.average().average()
      .over(
        partitionBy: Flight.origin, orderBy: Flight.month.asc, Flight.day.asc,
        frame: .rows(.preceding(6), .currentRow))
    let days = Flight.select(Flight.origin, Flight.month, Flight.day, Flight.departureDelay.average(), rolling)
      .groupBy(Flight.origin, Flight.month, Flight.day)
      .orderBy(Flight.origin.asc, Flight.month.asc, Flight.day.asc)
    return Question(
      "How did the delays of each airport go up and down? (the mean of seven days, day by day)",
      ["airport", "month", "day", "mean delay", "of seven days"], days,
      byHand: """
        WITH day AS (
          SELECT origin, month, day, avg(dep_delay) AS delay FROM flight GROUP BY origin, month, day)
        SELECT origin, month, day, delay, avg(delay) OVER (PARTITION BY origin ORDER BY month, day ROWS 6 PRECEDING)
        FROM day
        ORDER BY origin, month, day
        """)
  }

  static var delayOfTheFlightBefore: Question {
    let pair = Flight.select(
      Flight.departureDelay,
      Flight.departureDelay.lag().over(
        partitionBy: Flight.origin, orderBy: Flight.month.asc, Flight.day.asc, Flight.departure.asc, Flight.id.asc)
    )
    .filter(Flight.departureDelay.isNotNull).named("pair")
    let (delay, before) = pair.columns
    let band = Case.when(before > 120, then: "over two hours").when(before > 60, then: "over an hour")
      .when(before > 0, then: "late").else("not late")
    let delays = pair.read()
      .select(band, countAll(), delay.average())
      .filter(before.isNotNull)
      .groupBy(band).orderBy(before.max())
    return Question(
      "How late does a flight leave when the one before it, from the same airport, was late?",
      ["the one before", "flights", "mean delay"], delays,
      byHand: """
        WITH pair AS (
          SELECT dep_delay,
            lag(dep_delay) OVER (PARTITION BY origin ORDER BY month, day, dep_time, id) AS before
          FROM flight WHERE dep_delay IS NOT NULL)
        SELECT
          CASE WHEN before > 120 THEN 'over two hours' WHEN before > 60 THEN 'over an hour'
            WHEN before > 0 THEN 'late' ELSE 'not late' END AS band,
          count(*), avg(dep_delay)
        FROM pair WHERE before IS NOT NULL
        GROUP BY band
        ORDER BY max(before)
        """)
  }
}
