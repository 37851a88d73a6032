import Foundation

/// The files of a data set: those that come with the program, and those of the user.
struct DataFiles: Sendable {
  /// The flights to import; nil for the month that comes with the program.
  var flightsPath: String?

  static let airlines = "airlines.csv"
  static let airports = "airports.csv"
  static let planes = "planes.csv"
  static let flights = "flights-2013-01.csv"
  static let weather = "weather-2013-01.csv"

  /// The path of a file: the one of the same name beside the user's flights if it exists, else the one that comes with
  /// the program.
  func path(of name: String) throws -> String { try ownPath(of: name) ?? DataFiles.path(of: name) }

  /// The names of the files found beside the user's flights.
  var ownNames: [String] {
    [DataFiles.airlines, DataFiles.airports, DataFiles.planes, DataFiles.weather]
      .compactMap { ownPath(of: $0).map { URL(fileURLWithPath: $0).lastPathComponent } }
  }

  private func ownPath(of name: String) -> String? {
    guard let flightsPath else { return nil }
    // The weather that comes with the program is of one month, and named for it.
    let own = name == DataFiles.weather ? "weather.csv" : name
    let path = URL(fileURLWithPath: flightsPath).deletingLastPathComponent().appendingPathComponent(own).path
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }

  /// Without `Bundle.module`, which stops the process if the files are missing, as when the executable is copied
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
