import Foundation

/// The files of a data set: those that come with the program, and those that the user has.
struct DataFiles: Sendable {
  /// The flights to import; nil for the month that comes with the program.
  var flightsPath: String?

  static let airlines = "airlines.csv"
  static let airports = "airports.csv"
  static let planes = "planes.csv"
  static let flights = "flights-2013-01.csv"
  static let weather = "weather-2013-01.csv"

  /// The path of a file: one of the same name beside the flights of the user, where there is one, else that which comes with
  /// the program.
  ///
  /// The weather of a year is in `weather.csv`.
  func path(of name: String) throws -> String {
    let own = name == DataFiles.weather ? "weather.csv" : name
    if let flightsPath {
      let path = URL(fileURLWithPath: flightsPath).deletingLastPathComponent().appendingPathComponent(own).path
      if FileManager.default.fileExists(atPath: path) { return path }
    }
    return try DataFiles.path(of: name)
  }

  /// Not `Bundle.module`, which stops the process where the files are missing, as when the executable is copied
  /// elsewhere.
  static func path(of name: String) throws -> String {
    let executable = Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
    let built = executable?.appendingPathComponent("Sqlable_Flights.resources/Data/\(name)").path
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Data/\(name)").path
    for path in [built, source].compactMap(\.self) where FileManager.default.fileExists(atPath: path) { return path }
    throw FileProblem(path: name, reason: "is missing; it belongs in Sqlable_Flights.resources/Data beside the program")
  }
}
