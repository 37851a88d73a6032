import Glibc

/// `fork`, which Swift hides from programs.
enum Fork {
  private typealias Function = @convention(c) () -> pid_t
  private typealias SetHandler = @convention(c) (UnsafeRawPointer?) -> Void

  /// Forks the process. The child, which gets 0, is killed by `SIGALRM` after ten seconds.
  ///
  /// The testing library takes a lock for each thrown error. If another thread holds that lock during the fork, the
  /// lock stays locked in the child. So the child does not report its errors to the testing library.
  static func begin() -> pid_t {
    guard let fork = dlsym(nil, "fork").map({ unsafeBitCast($0, to: Function.self) }),
      let setHandler = dlsym(nil, "_swift_setWillThrowHandler").map({ unsafeBitCast($0, to: SetHandler.self) }),
      let typedHandler = dlsym(nil, "_swift_willThrowTypedImpl")
    else { return -1 }
    let child = fork()
    guard child == 0 else { return child }
    setHandler(nil)
    typedHandler.storeBytes(of: nil, as: UnsafeRawPointer?.self)
    // Threads of Dispatch block all signals.
    var alarms = sigset_t()
    sigemptyset(&alarms)
    sigaddset(&alarms, SIGALRM)
    pthread_sigmask(SIG_UNBLOCK, &alarms, nil)
    signal(SIGALRM, SIG_DFL)
    alarm(10)
    return 0
  }

  /// Forks a process that keeps all open files, and does nothing until `end`.
  static func beginIdle() -> pid_t {
    let child = begin()
    guard child == 0 else { return child }
    // Ends a child whose parent was killed.
    alarm(1_200)
    while true { pause() }
  }

  static func end(_ child: pid_t) {
    guard child > 0 else { return }
    kill(child, SIGKILL)
    _ = wait(for: child)
  }

  /// Waits for the child to end; returns the status from `waitpid`.
  static func wait(for child: pid_t) -> Int32 {
    var status: Int32 = -1
    while waitpid(child, &status, 0) == -1, errno == EINTR {}
    return status
  }
}
