import CSqlableSQLite

struct UserTokenizer: Sendable {
  /// A token, with the range of its bytes in the text.
  struct Token {
    let text: String
    let bytes: Range<Int>
    /// True if the token has the same position as the previous token.
    let isSynonym: Bool
  }

  /// The purpose for which FTS5 tokenizes a text.
  enum Purpose: Sendable {
    case document, query, prefixQuery, excerpt

    fileprivate init(_ flags: Int32) {
      if flags & FTS5_TOKENIZE_QUERY != 0 {
        self = flags & FTS5_TOKENIZE_PREFIX == 0 ? .query : .prefixQuery
      } else {
        self = flags & FTS5_TOKENIZE_AUX == 0 ? .document : .excerpt
      }
    }
  }

  let name: String
  let tokenize: @Sendable (String, Purpose) throws -> [Token]
}

extension Connection {
  /// Registers a tokenizer. Returns SQLite's result code, which is SQLITE_NOTFOUND without FTS5.
  func register(_ tokenizer: UserTokenizer) -> Int32 {
    guard let api = fullTextAPI, let create = api.pointee.xCreateTokenizer else { return SQLITE_NOTFOUND }
    let context = Unmanaged.passRetained(TokenizerContext(tokenizer, self))
    var methods = fts5_tokenizer(
      xCreate: { context, _, _, tokenizer in
        if let context { Unmanaged<TokenizerContext>.fromOpaque(context).takeUnretainedValue().begin() }
        // All tables share one tokenizer, because the tokenizer has no state.
        tokenizer?.pointee = context.map { OpaquePointer($0) }
        return SQLITE_OK
      },
      xDelete: { _ in },
      xTokenize: { tokenizer, sink, flags, text, count, emit in
        guard let tokenizer, let emit else { return SQLITE_MISUSE }
        return Unmanaged<TokenizerContext>.fromOpaque(UnsafeRawPointer(tokenizer)).takeUnretainedValue()
          .tokenize(UnsafeBufferPointer(start: text, count: text == nil ? 0 : Int(count)), flags) {
            emit(sink, $0, $1, $2, $3, $4)
          }
      })
    let code = create(api, tokenizer.name, context.toOpaque(), &methods) { context in
      if let context { Unmanaged<TokenizerContext>.fromOpaque(context).release() }
    }
    // FTS5 does not destroy the context when it refuses the tokenizer.
    if code != SQLITE_OK { context.release() }
    return code
  }
}

private final class TokenizerContext {
  private let tokenizer: UserTokenizer
  private let userCode: UserCode
  private let handle: OpaquePointer

  init(_ tokenizer: UserTokenizer, _ connection: Connection) {
    self.tokenizer = tokenizer
    userCode = connection.userCode
    handle = connection.handle
  }

  func begin() { FullTextModule.allowInTriggers(handle) }

  func tokenize(
    _ text: UnsafeBufferPointer<CChar>, _ flags: Int32,
    emit: (_ flags: Int32, UnsafePointer<CChar>?, _ count: Int32, _ start: Int32, _ end: Int32) -> Int32
  ) -> Int32 {
    let tokens: [UserTokenizer.Token]
    do {
      userCode.enter()
      defer { userCode.leave() }
      // Repair invalid UTF-8, like FTS5's own tokenizers.
      let string = String(decoding: UnsafeRawBufferPointer(text), as: UTF8.self)
      tokens = try tokenizer.tokenize(string, UserTokenizer.Purpose(flags))
    } catch {
      return userCode.keepAsCode(error)
    }
    var isFirst = true
    for token in tokens where !token.text.isEmpty {
      // A repaired text can be longer than the original text, but the offsets must refer to the original text.
      let (start, end) = (min(token.bytes.lowerBound, text.count), min(token.bytes.upperBound, text.count))
      let flags = token.isSynonym && !isFirst ? FTS5_TOKEN_COLOCATED : 0
      isFirst = false
      let code = token.withBytes { emit(flags, $0.baseAddress, Int32(clamping: $0.count), Int32(start), Int32(end)) }
      // This code means that FTS5 needs no more tokens.
      if code == SQLITE_DONE { return SQLITE_OK }
      if code != SQLITE_OK { return code }
    }
    return SQLITE_OK
  }
}

extension UserTokenizer.Token {
  fileprivate func withBytes<Result>(_ body: (UnsafeBufferPointer<CChar>) -> Result) -> Result {
    var text = text
    return text.withUTF8 { $0.withMemoryRebound(to: CChar.self, body) }
  }
}
