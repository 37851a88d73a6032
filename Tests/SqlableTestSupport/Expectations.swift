import SqlableCore
import Testing

/// Expects `body` to throw an `SqlError` of this kind, and returns the error.
@discardableResult
func expectError(
  _ kind: SqlError.Kind, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () throws -> Void
) -> SqlError? {
  let error = sqlError(body)
  #expect(error?.kind == kind, comment ?? "\(String(describing: error))", sourceLocation: sourceLocation)
  return error
}

/// Expects `body` to throw an `SqlError` of any kind, and returns the error.
@discardableResult
func expectSqlError(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void) -> SqlError? {
  let error = sqlError(body)
  #expect(error != nil, sourceLocation: sourceLocation)
  return error
}

/// Expects `body` to throw `.decoding` with this expected and found type, and returns the error.
@discardableResult
func expectDecoding(
  _ expected: String, _ found: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> SqlError? {
  let error = sqlError(body)
  var mismatch: SqlError.Mismatch?
  if case .decoding(let found) = error?.kind { mismatch = found }
  #expect(mismatch?.expected == expected, "\(String(describing: error))", sourceLocation: sourceLocation)
  #expect(mismatch?.found == found, "\(String(describing: error))", sourceLocation: sourceLocation)
  return error
}

/// Expects `body` to throw `.misuse` with any message, and returns the error.
@discardableResult
func expectMisuse(
  _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> SqlError? {
  let error = sqlError(body)
  var isMisuse = false
  if case .misuse = error?.kind { isMisuse = true }
  #expect(isMisuse, comment ?? "\(String(describing: error))", sourceLocation: sourceLocation)
  return error
}

/// Expects `body` to throw `.invalidStatement` with any message, and returns the error.
@discardableResult
func expectInvalidStatement(
  _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> SqlError? {
  let error = sqlError(body)
  var isInvalid = false
  if case .invalidStatement = error?.kind { isInvalid = true }
  #expect(isInvalid, comment ?? "\(String(describing: error))", sourceLocation: sourceLocation)
  return error
}

extension SqlError {
  var kindIsMisuse: Bool { if case .misuse = kind { true } else { false } }
}
