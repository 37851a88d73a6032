/// What is added to a date.
public enum DateUnit: String, Sendable, Hashable {
  case second, minute, hour, day, month, year

  /// How long it always is.
  var seconds: Int? {
    switch self {
    case .second: 1
    case .minute: 60
    case .hour: 3600
    case .day: 86_400
    case .month, .year: nil
    }
  }
}
