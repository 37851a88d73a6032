import Foundation
import Glibc

/// The libraries of `Tests/Faults`, which make system calls fail or clocks jump in a process that preloads them.
enum FaultLibrary {
  /// The kinds of calls.
  enum Calls: Int, CaseIterable {
    case opens = 1
    case reads = 2
    case writes = 4
    case syncs = 8
    case truncates = 16
    case closes = 32
    case stats = 64
    case locks = 128
    case owners = 256
    case unlinks = 512
    /// Writes that store the first half.
    case shortens = 1_024
    /// Releases of locks. Other calls of fcntl are `locks`.
    case unlocks = 2_048
  }

  private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../Faults").standardizedFileURL.path

  /// Compiles the library into a directory, unless an earlier round has; returns its path.
  static func compile(in directory: String) throws -> String { try compile("files", in: directory) }

  /// Compiles `Tests/Faults/clock.c`, with which a process's wall clock jumps.
  static func compileClock(in directory: String) throws -> String { try compile("clock", in: directory) }

  /// Compiles `Tests/Faults/threads.c`, with which Dispatch survives a lack of descriptors.
  static func compileThreads(in directory: String) throws -> String { try compile("threads", in: directory) }

  private static func compile(_ name: String, in directory: String) throws -> String {
    let (source, path) = ("\(sources)/\(name).c", "\(directory)/\(name).so")
    if access(path, F_OK) == 0 { return path }
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    // A round that is killed here leaves no half of a library.
    let partial = "\(path).\(getpid())"
    for compiler in ["cc", "clang", "gcc"] {
      let arguments = ["-shared", "-fPIC", "-O1", "-o", partial, source, "-ldl", "-lpthread"]
      if let process = try? ChildProcess(compiler, arguments, errors: .dropped), process.end(),
        rename(partial, path) == 0
      {
        return path
      }
    }
    throw Failure("no C compiler compiles \(source)")
  }

  /// The variables of a process whose calls on these files fail.
  static func environment(_ library: String, files: String) -> [String: String] {
    ["LD_PRELOAD": library, "FAULT_FILES": files]
  }

  // MARK: In the process

  private static func function<Function>(_ name: String, _ type: Function.Type) throws -> Function {
    guard let symbol = dlsym(nil, name) else { throw Failure("\(name): the library is not preloaded") }
    return unsafeBitCast(symbol, to: type)
  }

  /// Makes `length` calls of these kinds fail, from the n-th on, counted from 1. Every `interruption`-th call is
  /// interrupted by a signal; 0 is never.
  static func arm(_ calls: [Calls], _ n: Int, length: Int, error: Int32, interruption: Int = 0) throws {
    let arm = try function("faults_arm", (@convention(c) (Int, Int, Int, Int32, Int) -> Void).self)
    arm(calls.reduce(0) { $0 | $1.rawValue }, n, length, error, interruption)
  }

  /// Ends the failures, and returns how many calls failed.
  static func disarm() throws -> Int { try function("faults_disarm", (@convention(c) () -> Int).self)() }

  /// Sets the wall clock of the process to so many seconds after the machine's.
  static func jump(to seconds: Int) throws {
    try function("clock_jump", (@convention(c) (Int) -> Void).self)(seconds)
  }

  /// Makes the power fail at the n-th call that changes a file.
  static func losePower(at n: Int, seed: UInt64) throws {
    try function("faults_lose_power", (@convention(c) (Int, UInt) -> Void).self)(n, UInt(seed))
  }
}
