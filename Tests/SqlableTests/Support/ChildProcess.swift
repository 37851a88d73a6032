import Foundation
import Glibc

/// A real process of its own.
///
/// Not Foundation's: those that are started at the same time inherit each other's pipes, and none of them ends before
/// the last of them does.
final class ChildProcess {
  /// Writes to its standard input.
  let input: FileHandle
  /// Reads what it writes to its standard output, and to its standard error where these are one.
  let output: FileHandle
  let processIdentifier: pid_t
  private static let starting = NSLock()
  /// As `waitpid` gives it; nil while it is not known to have ended.
  private var status: Int32?

  enum Errors {
    case withOutput, dropped
  }

  struct CanNotStart: Error {
    let program: String
    let code: Int32
  }

  /// Starts it. Without an environment, it has that of this process.
  init(
    _ program: String, _ arguments: [String], environment: [String: String] = ProcessInfo.processInfo.environment,
    errors: Errors
  ) throws {
    // A process that is killed breaks the pipe; that must not end the tests.
    _ = Glibc.signal(SIGPIPE, SIG_IGN)
    // One at a time: between a pipe's making and its mark another one would inherit it.
    ChildProcess.starting.lock()
    defer { ChildProcess.starting.unlock() }
    let (input, output) = (ChildProcess.pipe(), ChildProcess.pipe())
    defer {
      close(input.reading)
      close(output.writing)
    }
    self.input = FileHandle(fileDescriptor: input.writing, closeOnDealloc: true)
    self.output = FileHandle(fileDescriptor: output.reading, closeOnDealloc: true)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input.reading, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output.writing, STDOUT_FILENO)
    switch errors {
    case .withOutput: posix_spawn_file_actions_adddup2(&actions, output.writing, STDERR_FILENO)
    case .dropped: posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    }
    let texts = ([program] + arguments).map { strdup($0) } + [nil]
    let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in texts + variables { free(text) } }
    var process: pid_t = 0
    let code = posix_spawnp(&process, program, &actions, nil, texts, variables)
    guard code == 0 else { throw CanNotStart(program: program, code: code) }
    processIdentifier = process
  }

  private static func pipe() -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { fatalError("no pipe: \(errno)") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  func signal(_ number: Int32) { _ = kill(processIdentifier, number) }

  /// Waits until it has ended; whether it did so by itself, and said that nothing went wrong.
  @discardableResult
  func waitUntilExit() -> Bool {
    while status == nil {
      var found: Int32 = 0
      let result = waitpid(processIdentifier, &found, 0)
      if result == processIdentifier || errno != EINTR { status = result < 0 ? -1 : found }
    }
    // Both its exit code and the signal that ended it are in there.
    return status == 0
  }

  /// Ends the process in an orderly way: it finds its input at an end.
  @discardableResult
  func end() -> Bool {
    try? input.close()
    return waitUntilExit()
  }
}
