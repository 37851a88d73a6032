import FoundationEssentials
import Glibc
import SqlableCore

/// A backup of one tenant; see ``SqliteTenants/backups(of:in:)``.
public struct TenantBackup: Sendable, Hashable {
  /// The time of the backup. The backup has no commits from after this time.
  public let time: Date
  /// The path of the backup, which is a database file.
  public let path: String
  /// Identifies the state of the tenant's file at the backup. Nil if the file could change later without a change of
  /// the mark.
  let mark: String?

  static let ending = ".sqlite"

  /// Parses the name of a file; nil for another file.
  init?(name: String, in directory: String) {
    guard name.hasSuffix(TenantBackup.ending) else { return nil }
    let parts = name.dropLast(TenantBackup.ending.count).split(separator: "-", maxSplits: 1)
    guard let text = parts.first, let time = Date(backupTime: text) else { return nil }
    (self.time, path, mark) = (time, directory + "/" + name, parts.count == 2 ? String(parts[1]) : nil)
  }
}

extension Date {
  /// Parses a time such as `20261130T074512.123456Z`; nil for another text.
  init?(backupTime text: Substring) {
    let bytes = Array(text.utf8)
    guard bytes.count == 23, (bytes[8], bytes[15], bytes[22]) == (0x54, 0x2E, 0x5A) else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      bytes[range].reduce(0) { sum, byte in
        guard let sum, (0x30...0x39).contains(byte) else { return nil }
        return sum * 10 + Int(byte - 0x30)
      }
    }
    guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8), let hour = number(9..<11),
      let minute = number(11..<13), let second = number(13..<15), let micro = number(16..<22), (1...12).contains(month)
    else { return nil }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (Int32(year - 1_900), Int32(month - 1), Int32(day))
    (fields.tm_hour, fields.tm_min, fields.tm_sec) = (Int32(hour), Int32(minute), Int32(second))
    self.init(timeIntervalSince1970: Double(timegm(&fields)) + Double(micro) / 1_000_000)
  }

  /// The time as a text. Texts of later times sort after texts of earlier times.
  var backupTime: String {
    let all = (timeIntervalSince1970 * 1_000_000).rounded()
    let micro = Int(exactly: all) ?? 0
    var (seconds, fields) = (time_t(micro / 1_000_000), tm())
    gmtime_r(&seconds, &fields)
    func digits(_ number: some BinaryInteger, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
    let day = digits(fields.tm_year + 1_900, 4) + digits(fields.tm_mon + 1, 2) + digits(fields.tm_mday, 2)
    let time = digits(fields.tm_hour, 2) + digits(fields.tm_min, 2) + digits(fields.tm_sec, 2)
    return "\(day)T\(time).\(digits(micro % 1_000_000, 6))Z"
  }
}
