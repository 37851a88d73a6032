import Foundation
import Glibc

/// A child process with pipes for its input and output.
///
/// Not Foundation's `Process`: processes started at the same time inherit each other's pipes, and none of them ends
/// before the last.
final class ChildProcess {
  /// Writes to the process's standard input.
  let input: FileHandle
  /// Reads the process's standard output, and its standard error if `errors` is `.withOutput`.
  let output: FileHandle
  let processIdentifier: pid_t
  private static let starting = NSLock()
  /// The status from `waitpid`; nil until the process is known to have ended.
  private var status: Int32?

  enum Errors {
    case withOutput, dropped
  }

  struct CanNotStart: Error {
    let program: String
    let code: Int32
  }

  /// Starts the process. The default environment is that of this process. A process that leads a group can be killed
  /// together with the processes that it starts.
  init(
    _ program: String, _ arguments: [String], environment: [String: String] = ProcessInfo.processInfo.environment,
    errors: Errors, leadsGroup: Bool = false
  ) throws {
    // A killed process breaks the pipe, and SIGPIPE must not end the tests.
    _ = Glibc.signal(SIGPIPE, SIG_IGN)
    // One start at a time: another process would inherit a pipe before its close-on-exec flag is set.
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
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    if leadsGroup { posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP)) }
    let texts = ([program] + arguments).map { strdup($0) } + [nil]
    let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in texts + variables { free(text) } }
    var process: pid_t = 0
    let code = posix_spawnp(&process, program, &actions, &attributes, texts, variables)
    guard code == 0 else { throw CanNotStart(program: program, code: code) }
    processIdentifier = process
  }

  /// Swift Testing waits for the children of its exit tests with `waitid`, which returns the same ended child for ever
  /// if nobody waits for that child.
  deinit {
    guard status == nil else { return }
    let process = processIdentifier
    Thread.detachNewThread { while waitpid(process, nil, 0) < 0, errno == EINTR {} }
  }

  private static func pipe() -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { fatalError("no pipe: \(errno)") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  func signal(_ number: Int32) { _ = kill(processIdentifier, number) }

  /// Waits until the process has ended; true if it exited with 0.
  @discardableResult
  func waitUntilExit() -> Bool {
    while status == nil {
      var found: Int32 = 0
      let result = waitpid(processIdentifier, &found, 0)
      if result == processIdentifier || errno != EINTR { status = result < 0 ? -1 : found }
    }
    // The status contains both the exit code and the signal.
    return status == 0
  }

  /// The signal that ended the process; nil if it exited by itself, or has not ended as far as is known.
  var endingSignal: Int32? { status.flatMap { $0 & 0x7F == 0 ? nil : $0 & 0x7F } }

  /// Ends the process by closing its input.
  @discardableResult
  func end() -> Bool {
    try? input.close()
    return waitUntilExit()
  }
}
