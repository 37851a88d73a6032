import Foundation

/// The highest ratios that the contenders of this library may have: of each workload, by the names of its contenders.
struct Limits: Codable {
  var limits: [String: [String: Double]]

  /// What the ratios measured are multiplied by when they are recorded: machines are shared, and small sizes noisy.
  static let margin = 1.5

  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  /// A ratio over its limit, or without one.
  struct Breach {
    let workload: String
    let contender: String
    let ratio: Double
    let limit: Double?
  }

  init(path: String) throws {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Problem(description: "the file of limits can't be read: \(path)")
    }
    do {
      limits = try JSONDecoder().decode([String: [String: Double]].self, from: data)
    } catch {
      throw Problem(description: "the file holds no limits: \(path)")
    }
  }

  /// The limits of a file, where there is one, with those of the results added or replaced.
  init(adding results: [Result], toFileAt path: String) throws {
    limits = FileManager.default.fileExists(atPath: path) ? try Limits(path: path).limits : [:]
    for result in results {
      for (contender, ratio) in Limits.ratios(of: result) {
        limits[result.workload, default: [:]][contender] = (ratio * Limits.margin * 20).rounded(.up) / 20
      }
    }
  }

  func write(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try (encoder.encode(limits) + Data("\n".utf8)).write(to: URL(fileURLWithPath: path))
  }

  private static func ratios(of result: Result) -> [(contender: String, ratio: Double)] {
    result.entries.filter { $0.contender.hasPrefix(Name.sqlable) }.compactMap { entry in
      entry.ratio.map { (entry.contender, $0) }
    }
  }

  func breaches(in result: Result) throws -> [Breach] {
    guard result.entries.contains(where: { $0.ratio != nil }) else {
      throw Problem(description: "\(result.workload): a limit needs the contender that the ratios are to")
    }
    return Limits.ratios(of: result).compactMap { contender, ratio in
      let limit = limits[result.workload]?[contender]
      if let limit, ratio <= limit { return nil }
      return Breach(workload: result.workload, contender: contender, ratio: ratio, limit: limit)
    }
  }
}
