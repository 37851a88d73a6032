/// A unit of time for intervals that are added to dates, and for periods that contain a date. A week has seven days and
/// starts on Monday.
public enum DateUnit: String, Sendable, Hashable {
  case second, minute, hour, day, week, month, year

  /// The unit's length in seconds; nil if the length varies.
  var seconds: Int? {
    switch self {
    case .second: 1
    case .minute: 60
    case .hour: 3600
    case .day: 86_400
    case .week: 604_800
    case .month, .year: nil
    }
  }
}

/// A part of a date as a number. The raw values are the parts' names in documents.
package enum DatePart: String, Sendable, Hashable {
  case year, month, day, hour, minute, second, weekday, dayOfYear

  var letter: Character {
    switch self {
    case .year: "Y"
    case .month: "m"
    case .day: "d"
    case .hour: "H"
    case .minute: "M"
    case .second: "S"
    case .weekday: "w"
    case .dayOfYear: "j"
    }
  }
}
