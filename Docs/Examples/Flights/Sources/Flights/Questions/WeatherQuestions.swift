import Foundation
import Sqlable

// Weather: joins on two columns, and groups by conditions.

extension Question {
  static var weather: [Question] { [weatherAndDelay, worstHours] }

  static var weatherAndDelay: Question {
    typealias Delays = Select<(String, String, Int, Double?, Double?)>
    func delays(_ element: String, _ band: TypedExpression<String>) -> Delays {
      let share = countAll(where: Flight.departureDelay > 60).cast(to: Double.self) * 100
      return Flight.join(
        Weather.self, on: Flight.origin == Weather.origin && Flight.timeHour == Weather.timeHour
      )
      .select(
        TypedExpression(element), band, countAll(), Flight.departureDelay.average(),
        share / countAll().cast(to: Double.self)
      )
      .filter(Flight.departureDelay.isNotNull).groupBy(band)
    }
    let rain = Case.when(Weather.precipitation > 0.1, then: "over 0.1 in")
      .when(Weather.precipitation > 0, then: "up to 0.1 in").else("none")
    let view = Case.when(Weather.visibility < 3, then: "under 3 mi")
      .when(Weather.visibility < 10, then: "under 10 mi").else("10 mi")
    let wind = Case.when(Weather.windSpeed > 25, then: "over 25 mph")
      .when(Weather.windSpeed > 15, then: "over 15 mph").else("up to 15 mph")
    let bands = delays("rain", rain).unionAll(delays("view", view)).unionAll(delays("wind", wind)).named("band")
    let (element, band, _, delay, _) = bands.columns
    let conditions = bands.read().orderBy(element.asc, delay.desc, band.asc)
    return Question(
      "In which weather are flights late?", ["weather", "", "flights", "mean delay", "per cent over an hour"],
      conditions,
      byHand: """
        WITH seen AS (
          SELECT dep_delay, precip, visib, wind_speed
          FROM flight f JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
          WHERE dep_delay IS NOT NULL)
        SELECT 'rain' AS element,
          CASE WHEN precip > 0.1 THEN 'over 0.1 in' WHEN precip > 0 THEN 'up to 0.1 in' ELSE 'none' END AS band,
          count(*), avg(dep_delay), avg(dep_delay > 60) * 100
        FROM seen GROUP BY band
        UNION ALL
        SELECT 'view',
          CASE WHEN visib < 3 THEN 'under 3 mi' WHEN visib < 10 THEN 'under 10 mi' ELSE '10 mi' END AS band,
          count(*), avg(dep_delay), avg(dep_delay > 60) * 100
        FROM seen GROUP BY band
        UNION ALL
        SELECT 'wind',
          CASE WHEN wind_speed > 25 THEN 'over 25 mph' WHEN wind_speed > 15 THEN 'over 15 mph'
            ELSE 'up to 15 mph' END AS band,
          count(*), avg(dep_delay), avg(dep_delay > 60) * 100
        FROM seen GROUP BY band
        ORDER BY 1, 4 DESC, 2
        """)
  }

  static var worstHours: Question {
    let meanDelay = Flight.departureDelay.average()
    let worst = Flight.select(Flight.origin, Flight.timeHour, countAll(), meanDelay)
      .filter(Flight.departureDelay.isNotNull)
      .groupBy(Flight.origin, Flight.timeHour)
      .orderBy(meanDelay.desc, Flight.origin.asc, Flight.timeHour.asc).limit(48)
      .named("worst")
    let (airport, hour, flights, delay) = worst.columns
    let hours = worst.read()
      .leftJoin(Weather.self, on: Weather.origin == airport && Weather.timeHour == hour)
      .select(
        airport, hour, flights, delay, Weather.windSpeed, Weather.precipitation.typed(as: Double?.self),
        Weather.visibility.typed(as: Double?.self)
      )
      .orderBy(delay.desc, airport.asc, hour.asc)
    return Question(
      "Which were the 48 hours with the worst delays, and what was the weather?",
      ["airport", "hour (UTC)", "flights", "mean delay", "wind", "rain", "view"], hours,
      byHand: """
        SELECT f.origin, f.time_hour, count(*), avg(dep_delay), wind_speed, precip, visib
        FROM flight f LEFT JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
        WHERE dep_delay IS NOT NULL
        GROUP BY f.origin, f.time_hour
        ORDER BY avg(dep_delay) DESC, f.origin, f.time_hour
        LIMIT 48
        """)
  }
}
