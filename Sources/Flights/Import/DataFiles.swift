import Foundation

/// The files that come with the program.
enum DataFiles {
  static let airlines = "airlines.csv"
  static let airports = "airports.csv"
  static let planes = "planes.csv"
  static let flights = "flights-2013-01.csv"

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
