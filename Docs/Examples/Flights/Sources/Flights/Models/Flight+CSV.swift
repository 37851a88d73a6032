/// A line of flights.csv.
extension Flight: CSVModel {
  enum CSV: Int, CSVColumn {
    case year, month, day
    case depTime, schedDepTime, depDelay
    case arrTime, schedArrTime, arrDelay
    case carrier, flight, tailnum, origin, dest
    case airTime, distance, hour, minute, timeHour
  }

  init(csv line: borrowing CSVReader<CSV>) throws(CSVError) {
    year = try line.int(.year)
    month = try line.int(.month)
    day = try line.int(.day)
    departure = try line.optionalInt(.depTime)
    scheduledDeparture = try line.int(.schedDepTime)
    departureDelay = try line.optionalInt(.depDelay)
    arrival = try line.optionalInt(.arrTime)
    scheduledArrival = try line.int(.schedArrTime)
    arrivalDelay = try line.optionalInt(.arrDelay)
    carrier = try line.text(.carrier)
    number = try line.int(.flight)
    tailnum = try line.optionalText(.tailnum)
    origin = try line.text(.origin)
    destination = try line.text(.dest)
    airTime = try line.optionalInt(.airTime)
    distance = try line.int(.distance)
    scheduledHour = try line.int(.hour)
    scheduledMinute = try line.int(.minute)
    timeHour = try line.date(.timeHour)
  }
}
