import CSqlableSQLite
import Glibc

/// The function that implements the operator REGEXP. SQLite has the operator but not the function.
///
/// The function is registered on a connection when a statement first fails because the function is missing. So opening
/// a connection is not slower, and a function `regexp` that the application has registered takes precedence.
enum RegexpFunction {
  static func isMissing(_ message: UnsafePointer<CChar>?) -> Bool {
    guard let message else { return false }
    return sqlite3_stricmp(message, "no such function: regexp") == 0
  }

  static func register(on handle: OpaquePointer, _ userCode: UserCode) -> Int32 {
    // SQLite releases the context when the function is replaced, when the connection closes, and when this call fails.
    // SQLITE_DIRECTONLY prevents views and triggers from calling the function, because other programs might not have
    // the function.
    sqlite3_create_function_v2(
      handle, "regexp", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
      Unmanaged.passRetained(Context(userCode)).toOpaque(), RegexpFunction.call, nil, nil
    ) { if let context = $0 { Unmanaged<Context>.fromOpaque(context).release() } }
  }

  private final class Context {
    let userCode: UserCode
    // Needs no lock, because a connection runs one statement at a time.
    var cache = RegexCache()

    init(_ userCode: UserCode) { self.userCode = userCode }
  }

  /// Implements `text REGEXP pattern`, which SQLite calls as `regexp(pattern, text)`. Returns NULL if an argument is
  /// NULL. Numbers are converted to TEXT by SQLite; a BLOB never matches.
  private static let call: @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void = {
    target, _, values in
    guard let context = sqlite3_user_data(target), let pattern = values?[0], let text = values?[1] else { return }
    if sqlite3_value_type(pattern) == SQLITE_NULL || sqlite3_value_type(text) == SQLITE_NULL { return }
    guard sqlite3_value_type(pattern) != SQLITE_BLOB, sqlite3_value_type(text) != SQLITE_BLOB else {
      return sqlite3_result_int(target, 0)
    }
    let callContext = Unmanaged<Context>.fromOpaque(context).takeUnretainedValue()
    do throws(SqlError) {
      let matches = try callContext.cache.matches(string(pattern), string(text))
      sqlite3_result_int(target, matches ? 1 : 0)
    } catch {
      sqlite3_result_error(target, callContext.userCode.keep(RefusedCall(error: error)), -1)
    }
  }

  private static func string(_ value: OpaquePointer) -> String {
    guard let bytes = sqlite3_value_text(value) else { return "" }
    let count = Int(sqlite3_value_bytes(value))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }
}

extension Connection {
  /// Throws for text with a NUL byte, because SQLite would ignore the text after the NUL byte without an error.
  func checkHasNoNul(_ text: UnsafeBufferPointer<UInt8>) throws {
    guard let start = text.baseAddress, memchr(start, 0, text.count) != nil else { return }
    throw SqlError.nulInText.labelled(label)
  }

  /// Compiles the first statement of a text. Returns SQLite's code, and the statement's length in `used`.
  func prepare(
    _ text: UnsafePointer<UInt8>, _ count: Int32, _ statement: inout OpaquePointer?, _ used: inout Int
  ) -> Int32 {
    func prepare() -> Int32 {
      text.withMemoryRebound(to: CChar.self, capacity: Int(count)) { text in
        var tail: UnsafePointer<CChar>?
        let code = sqlite3_prepare_v3(handle, text, count, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, &tail)
        if let tail { used = tail - text }
        return code
      }
    }
    let code = prepare()
    guard code == SQLITE_ERROR, RegexpFunction.isMissing(sqlite3_errmsg(handle)) else { return code }
    return RegexpFunction.register(on: handle, userCode) == SQLITE_OK ? prepare() : code
  }
}
