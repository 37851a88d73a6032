import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// A transport without a connection. It forwards SQL and values to a child process over a pipe.
actor PipeTransport: SqlTransport {
  private let process: ChildProcess
  private var rest = Data()
  /// The number of calls.
  private(set) var calls = 0

  /// Starts the process with a pool on the file.
  init(_ path: String) throws {
    process = try TestProgram.start("AnsweringProcessTests", environment: [AnsweringProcess.variable: path])
  }

  func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] {
    calls += 1
    // The requests encode NaN and infinite values in a separate form.
    try process.input.write(contentsOf: JSONEncoder().encode(requests) + Data("\n".utf8))
    while true {
      let line = try line()
      guard line.starts(with: AnsweringProcess.mark.utf8) else { continue }
      return try JSONDecoder().decode(Reply.self, from: line.dropFirst(AnsweringProcess.mark.utf8.count)).get()
    }
  }

  func end() -> Bool { process.end() }

  private func line() throws -> Data {
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        defer { rest = Data(rest[(end + 1)...]) }
        return Data(rest[..<end])
      }
      let data = process.output.availableData
      guard !data.isEmpty else { throw SqlError(.io, message: "the process has ended") }
      rest += data
    }
  }
}

/// The answers or the error of the child process.
private struct Reply: Codable {
  var answers: [SqlAnswer]?
  var error: String?

  init(_ body: () throws -> [SqlAnswer]) {
    do { answers = try body() } catch { self.error = (error as? SqlError)?.message ?? "\(error)" }
  }

  func get() throws -> [SqlAnswer] {
    guard let answers else { throw SqlError(.io, message: error ?? "no answer") }
    return answers
  }
}

enum AnsweringProcess {
  static let variable = "SQLABLE_ANSWERING_PROCESS"
  static let mark = "<answer>"
}

/// The child process, which reads requests and writes answers.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[AnsweringProcess.variable] != nil, "a process of its own"))
struct AnsweringProcessTests {
  @Test func theChildProcessAnswersRequests() throws {
    let path = try #require(ProcessInfo.processInfo.environment[AnsweringProcess.variable])
    let pool = try SqlitePool(filepath: path)
    while let line = readLine() {
      let requests = try JSONDecoder().decode([SqlRequest].self, from: Data(line.utf8))
      let reply = Reply { try pool.answers(to: requests) }
      print(AnsweringProcess.mark + String(decoding: try JSONEncoder().encode(reply), as: UTF8.self))
      fflush(nil)
    }
    try pool.close()
  }
}
