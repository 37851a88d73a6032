import CSQLite3
import Foundation

/// What the figures were taken on.
struct Machine: Encodable {
  let processor: String
  let cores: Int
  let load: [Double]
  let system: String
  let sqlite: String
  let swift: String

  init() {
    func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
    func value(of key: String, in text: String) -> String? {
      text.split(separator: "\n").first { $0.hasPrefix(key) }.flatMap { line in
        line.firstIndex { $0 == ":" || $0 == "=" }.map { line[line.index(after: $0)...].trimmed }
      }
    }
    processor = value(of: "model name", in: text("/proc/cpuinfo")) ?? "unknown processor"
    cores = ProcessInfo.processInfo.activeProcessorCount
    load = text("/proc/loadavg").split(separator: " ").prefix(3).compactMap { Double($0) }
    system = value(of: "PRETTY_NAME", in: text("/etc/os-release")) ?? "unknown system"
    sqlite = String(cString: sqlite3_libversion())
    swift = Machine.compiler
  }

  /// The compiler can only be asked whether it is at least some version.
  private static var compiler: String {
    #if compiler(>=6.4)
    "6.4 or later"
    #elseif compiler(>=6.3)
    "6.3"
    #elseif compiler(>=6.2)
    "6.2"
    #else
    "6.1"
    #endif
  }

  var description: String {
    let load = load.map { String(format: "%.2f", $0) }.joined(separator: " ")
    return "\(processor), \(cores) cores, load \(load); \(system), SQLite \(sqlite), Swift \(swift)"
  }
}

extension Substring {
  fileprivate var trimmed: String { String(self).trimmingCharacters(in: .whitespaces.union(.init(charactersIn: "\""))) }
}
