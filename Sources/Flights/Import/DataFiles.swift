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
  func path(of name: String) throws -> String { try ownPath(of: name) ?? DataFiles.path(of: name) }

  /// The names of the files that are beside the flights of the user.
  var ownNames: [String] {
    [DataFiles.airlines, DataFiles.airports, DataFiles.planes, DataFiles.weather]
      .compactMap { ownPath(of: $0).map { URL(fileURLWithPath: $0).lastPathComponent } }
  }

  private func ownPath(of name: String) -> String? {
    guard let flightsPath else { return nil }
    // The weather that comes with the program is that of a month.
    let own = name == DataFiles.weather ? "weather.csv" : name
    let path = URL(fileURLWithPath: flightsPath).deletingLastPathComponent().appendingPathComponent(own).path
    return FileManager.default.fileExists(atPath: path) ? path : nil
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
