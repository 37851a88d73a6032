import Foundation
import SqlableCluster

/// A node in a separate process.
actor TestNode {
  nonisolated let id: Int
  nonisolated let address: String
  nonisolated let directory: String
  /// The node's network namespace; nil for that of this process.
  private let namespace: String?
  private let latency: Int
  /// The number of commits between two snapshots, and the number kept after one; nil for the default.
  private let snapshots: Int?
  /// The listening address, if it differs from `address`.
  private let bind: String?
  private let environment: [String: String]
  private var process: Process?
  private var input: FileHandle?

  init(
    _ id: Int, _ address: String, _ directory: String, namespace: String? = nil, latency: Int = 50,
    snapshots: Int? = nil, bind: String? = nil, environment: [String: String] = [:]
  ) {
    (self.bind, self.environment) = (bind, environment)
    (self.id, self.address, self.directory) = (id, address, directory)
    (self.namespace, self.latency, self.snapshots) = (namespace, latency, snapshots)
  }

  /// Starts the process and waits until the node runs. Throws the node's output on failure.
  func start(joining: [String] = []) async throws {
    let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let process = Process()
    let words =
      [
        products.appendingPathComponent("ClusterNodeProcess").path, "\(id)", address, directory,
        joining.isEmpty ? "-" : joining.joined(separator: ","), "\(latency)",
        snapshots.map { "\($0)" } ?? "-", bind ?? "-",
      ]
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = (namespace.map { ["/usr/sbin/ip", "netns", "exec", $0] } ?? []) + words
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    (self.process, self.input) = (process, input.fileHandleForWriting)
    let line = await line(of: output.fileHandleForReading)
    guard line.hasPrefix("running") else {
      process.waitUntilExit()
      self.process = nil
      throw CommandFailure(description: line.isEmpty ? "node \(id) has ended" : line)
    }
    // The node prints more when it stops; a closed pipe would kill it.
    self.output = output.fileHandleForReading
  }

  private var output: FileHandle?

  /// Returns the first line without its line break, or the whole output if the process ends earlier.
  private func line(of file: FileHandle) async -> String {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        var text = Data()
        while let byte = try? file.read(upToCount: 1), !byte.isEmpty, byte[0] != UInt8(ascii: "\n") { text += byte }
        continuation.resume(returning: String(decoding: text, as: UTF8.self))
      }
    }
  }

  var isRunning: Bool { process?.isRunning ?? false }

  /// Kills the process at once, like a power failure.
  func kill() async { await end(SIGKILL) }

  /// Stops the node like an operator.
  func stop() async throws {
    try? input?.write(contentsOf: Data("stop\n".utf8))
    await ended()
  }

  /// The processor time of the process, in seconds.
  var processorTime: Double {
    guard let process,
      let text = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
    else { return 0 }
    // Fields 14 and 15, in ticks. The count starts after the name, which may contain spaces.
    let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  func pause() { signal(SIGSTOP) }

  func resume() { signal(SIGCONT) }

  private func signal(_ number: Int32) {
    guard let process, process.isRunning else { return }
    _ = Foundation.kill(process.processIdentifier, number)
  }

  private func end(_ number: Int32) async {
    signal(number)
    await ended()
  }

  private func ended() async {
    guard let process else { return }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      DispatchQueue.global().async {
        process.waitUntilExit()
        continuation.resume()
      }
    }
    try? input?.close()
    (self.process, input, output) = (nil, nil, nil)
  }

  /// The exit status; nil while the process runs.
  nonisolated func wait() async -> Int32? { await status() }

  private func status() -> Int32? {
    guard let process, !process.isRunning else { return nil }
    return process.terminationStatus
  }
}
