import Foundation
import Sqlable

// The weather of the hour: joins on two columns, and conditions as groups.

extension Question {
  static var weather: [Question] { [weatherAndDelay, worstHours] }

  static var weatherAndDelay: Question {
    func delays(_ element: String, _ band: TypedExpression<String>) -> some SelectStatement {
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
    let bands = Alias(WeatherBand.self, "band") { _ in
      delays("rain", rain).unionAll(delays("view", view)).unionAll(delays("wind", wind))
    }
    let conditions = bands.all()
      .select(
        bands[WeatherBand.element], bands[WeatherBand.name], bands[WeatherBand.flights], bands[WeatherBand.delay],
        bands[WeatherBand.share]
      )
      .orderBy(bands[WeatherBand.element].asc, bands[WeatherBand.delay].desc, bands[WeatherBand.name].asc)
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
    let worst = Alias(HourOfDelays.self, "worst") { _ in
      Flight.select(Flight.origin, Flight.timeHour, countAll(), Flight.departureDelay.average())
        .filter(Flight.departureDelay.isNotNull)
        .groupBy(Flight.origin, Flight.timeHour)
        .orderBy(Flight.departureDelay.average().desc, Flight.origin.asc, Flight.timeHour.asc).limit(48)
    }
    let hours = worst.all()
      .leftJoin(
        Weather.self,
        on: Weather.origin == worst[HourOfDelays.origin] && Weather.timeHour == worst[HourOfDelays.timeHour]
      )
      .select(
        worst[HourOfDelays.origin], worst[HourOfDelays.timeHour], worst[HourOfDelays.flights],
        worst[HourOfDelays.delay], Weather.windSpeed, Weather.precipitation.typed(as: Double?.self),
        Weather.visibility.typed(as: Double?.self)
      )
      .orderBy(worst[HourOfDelays.delay].desc, worst[HourOfDelays.origin].asc, worst[HourOfDelays.timeHour].asc)
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

/// An hour at an airport, and how late its flights left.
struct HourOfDelays: Sqlable {
  static let origin = column("origin", String.self)
  static let timeHour = column("time_hour", Date.self)
  static let flights = column("flights", Int.self)
  static let delay = column("delay", Double.self)
  static let tableLayout = [origin.column, timeHour.column, flights.column, delay.column]

  init(row: ReadRow) throws {}
}

/// How late flights leave in weather of one kind.
struct WeatherBand: Sqlable {
  static let element = column("element", String.self)
  static let name = column("name", String.self)
  static let flights = column("flights", Int.self)
  static let delay = column("delay", Double.self)
  static let share = column("share", Double.self)
  static let tableLayout = [element.column, name.column, flights.column, delay.column, share.column]

  init(row: ReadRow) throws {}
}
