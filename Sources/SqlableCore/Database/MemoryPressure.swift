import CSqlableSQLite
import Dispatch
import Glibc

/// The threshold above which the system is considered short of memory.
public struct MemoryPressure: Sendable, Hashable {
  /// The minimum time for which tasks must have waited for memory within the window. Default: 150 milliseconds.
  public var stall: Duration
  /// The period in which waiting times are added up, from half a second to ten seconds. Default: 1 second. Some kernels
  /// accept only multiples of two seconds from an unprivileged process.
  public var window: Duration
  /// The path of the kernel's file. Default: `/proc/pressure/memory`, for the whole machine. For a control group, use
  /// the group's `memory.pressure`.
  public var path: String

  public init(
    stall: Duration = .milliseconds(150), within window: Duration = .seconds(1), path: String = "/proc/pressure/memory"
  ) { (self.stall, self.window, self.path) = (stall, window, path) }

  fileprivate func validate() throws {
    guard (.milliseconds(500) ... .seconds(10)).contains(window), stall >= .milliseconds(1), stall <= window else {
      throw SqlError.misuse(
        "the `window` of memory pressure must be from 0.5 to 10 seconds, and the `stall` must be at least "
          + "1 millisecond and at most the window"
      )
    }
  }
}

extension SqliteDatabase {
  /// Calls ``releaseMemory()-swift.type.method`` whenever the system is short of memory, until the watch is ended or
  /// deallocated.
  ///
  /// ```swift
  /// let watch = try SqliteDatabase.releaseMemoryUnderPressure { log("memory was released") }
  /// …
  /// watch.end()
  /// ```
  ///
  /// The kernel reports at most once per window that tasks wait for memory (pressure stall information). If the kernel
  /// does not accept a trigger, the watch reads the kernel's file once per window. `didRelease` is called after each
  /// release, on the watch's thread. Throws `.cannotOpen` if the kernel's file does not exist, as before Linux 4.20,
  /// and `.misuse` for invalid durations.
  public static func releaseMemoryUnderPressure(
    _ pressure: MemoryPressure = MemoryPressure(), _ didRelease: @escaping @Sendable () -> Void = {}
  ) throws -> MemoryPressureWatch {
    try MemoryPressureWatch(pressure) {
      releaseMemory()
      didRelease()
    }
  }
}

/// A watch for memory pressure. The watch ends when this object is deallocated.
public final class MemoryPressureWatch: Sendable {
  private let watcher: PressureWatcher

  init(_ pressure: MemoryPressure, _ body: @escaping @Sendable () -> Void) throws {
    watcher = try PressureWatcher(pressure, body)
    startThread { [watcher] in watcher.run() }
  }

  deinit { end() }

  /// Ends the watch; a second call does nothing. If memory is being released, does not wait until that is done.
  public func end() { watcher.end() }
}

/// A loop that waits for memory pressure on a separate thread.
///
/// `@unchecked Sendable` is sound: only `run()` uses `total`, and everything else is immutable or locked. `deinit`
/// closes the descriptors after `run()` has returned, because the thread retains this object.
private final class PressureWatcher: @unchecked Sendable {
  private let pressure: MemoryPressure
  private let body: @Sendable () -> Void
  /// The descriptor of the kernel's pressure file, with the trigger. Nil if the kernel accepts no trigger: the thread
  /// then reads the file once per window.
  private let trigger: Int32?
  /// One of two connected sockets. Shutting down the other, `closing`, wakes the thread that polls this one.
  private let ending: Int32
  private let closing: LockedValue<Int32?>
  /// The total time that tasks have waited for memory, in microseconds, at the last reading.
  private var total: Int

  init(_ pressure: MemoryPressure, _ body: @escaping @Sendable () -> Void) throws {
    try pressure.validate()
    (self.pressure, self.body) = (pressure, body)
    guard let total = PressureWatcher.total(pressure.path) else {
      throw SqlError(.cannotOpen, message: "the system does not report memory pressure at \(pressure.path)")
    }
    self.total = total
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw SqlError.system("watch", pressure.path, errno)
    }
    (ending, closing) = (ends[0], LockedValue(ends[1]))
    trigger = PressureWatcher.trigger(pressure)
  }

  deinit {
    end()
    close(ending)
    if let trigger { close(trigger) }
  }

  func end() {
    closing.withLock { closing in
      guard let socket = closing else { return }
      shutdown(socket, Int32(SHUT_RDWR))
      close(socket)
      closing = nil
    }
  }

  func run() {
    var events = [pollfd(fd: ending, events: Int16(POLLIN), revents: 0)]
    if let trigger { events.append(pollfd(fd: trigger, events: Int16(POLLPRI), revents: 0)) }
    while true {
      let window = Int32(pressure.window / .milliseconds(1))
      let count = poll(&events, nfds_t(events.count), events.count > 1 ? -1 : window)
      if count < 0, errno == EINTR { continue }
      guard count >= 0, events[0].revents == 0 else { return }
      if events.count > 1 {
        if events[1].revents & Int16(POLLPRI) != 0 { body() }
        // After an error, stop polling the file: the control group was deleted, or the kernel has dropped the trigger.
        if events[1].revents & Int16(POLLERR) != 0 { events.removeLast() }
      } else if isPressed() {
        body()
      }
    }
  }

  private func isPressed() -> Bool {
    guard let now = PressureWatcher.total(pressure.path) else { return false }
    defer { total = now }
    return now - total >= Int(pressure.stall / .microseconds(1))
  }

  /// Returns the number of microseconds for which tasks have waited for memory. The number follows `total=` in the
  /// first line: `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`.
  private static func total(_ path: String) -> Int? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(file, &bytes, bytes.count)
    guard count > 0 else { return nil }
    let lines = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n")
    let words = lines.first { $0.hasPrefix("some ") }?.split(separator: " ")
    return words?.last { $0.hasPrefix("total=") }.flatMap { Int($0.dropFirst(6)) }
  }

  /// Opens the file and sets a trigger. Nil if the kernel refuses the trigger or the file is not a kernel file.
  private static func trigger(_ pressure: MemoryPressure) -> Int32? {
    let file = open(pressure.path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return nil }
    let text = "some \(Int(pressure.stall / .microseconds(1))) \(Int(pressure.window / .microseconds(1)))"
    // The kernel also reads the text's terminating NUL.
    guard sqlable_is_of_kernel(file) != 0,
      write(file, text, text.utf8.count + 1) > 0
    else {
      close(file)
      return nil
    }
    return file
  }
}
