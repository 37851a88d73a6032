import Foundation

@testable import SqlableTestSupport

extension ChildProcess {
  /// The state that the kernel reports: `R`, `S`, `T` for a stopped process, `Z` for a process that has ended.
  var state: Character? {
    let text = try? String(contentsOfFile: "/proc/\(processIdentifier)/stat", encoding: .utf8)
    // The name of the program is in parentheses, and can contain any character.
    return text.flatMap { text in text.lastIndex(of: ")").flatMap { text[$0...].dropFirst(2).first } }
  }
}
