#if Crypto
import FoundationEssentials
import Sqlable

extension TypedColumn where Value: SealedValue {
  /// Seals a value for this column with the ring's current key.
  ///
  /// ```swift
  /// let patient = Patient(diagnosis: try Patient.diagnosis.seal("fracture", with: keys))
  /// ```
  ///
  /// A sealed value can't be opened in another column. Throws `.encoding` for a value that can't be stored.
  public func seal(_ content: Value.Content, with keys: KeyRing) throws -> Value {
    try sealed(content, by: keys.current)
  }

  /// Opens a value of this column.
  ///
  /// ```swift
  /// let diagnosis = try Patient.diagnosis.open(patient.diagnosis, with: keys)
  /// ```
  ///
  /// Throws `.wrongKey` if the ring has no key with the value's number. Throws `.notAuthentic` if another key with that
  /// number or another column sealed the value, or if the value's bytes were changed. Throws `.decoding` if the content
  /// does not fit its type. The errors name table and column.
  public func open(_ sealed: Value, with keys: KeyRing) throws -> Value.Content { try opened(sealed, with: keys) }

  /// Seals a value once with each key of the ring, the current key first. A filter needs all these sealed values while
  /// the column contains values that were sealed with earlier keys.
  ///
  /// The bytes of ``Sealed`` values are random, so a filter finds only ``Sealed/Deterministic`` values.
  public func sealings(of content: Value.Content, with keys: KeyRing) throws -> [Value] {
    try keys.all.map { try sealed(content, by: $0) }
  }
}

extension TypedColumn {
  /// Seals a value for this column. Returns nil for nil, which is stored as NULL.
  public func seal<Wrapped: SealedValue>(_ content: Wrapped.Content?, with keys: KeyRing) throws -> Wrapped?
  where Value == Wrapped? { try content.map { try sealed($0, by: keys.current) } }

  /// Opens a value of this column. Returns nil for nil, which stands for NULL.
  public func open<Wrapped: SealedValue>(_ sealed: Wrapped?, with keys: KeyRing) throws -> Wrapped.Content?
  where Value == Wrapped? { try sealed.map { try opened($0, with: keys) } }

  /// Seals a value once with each key of the ring, the current key first.
  public func sealings<Wrapped: SealedValue>(of content: Wrapped.Content, with keys: KeyRing) throws -> [Wrapped]
  where Value == Wrapped? { try keys.all.map { try sealed(content, by: $0) } }

  /// Returns a condition that is true if the column contains this value, sealed by any key of the ring. If the column
  /// contains NULL, the condition is not true.
  ///
  /// ```swift
  /// Patient.read().filter(try Patient.insurance.equals("A 123", with: keys))
  /// // SELECT … WHERE "insurance" IN (?, ?)
  /// ```
  public func equals<Content>(_ content: Content, with keys: KeyRing) throws -> SqlExpression
  where Value == Sealed<Content>.Deterministic { `in`(try sealings(of: content, with: keys)) }

  /// Returns a condition that is true if the column contains this value, sealed by any key of the ring. If the column
  /// contains NULL, the condition is not true.
  public func equals<Content>(_ content: Content, with keys: KeyRing) throws -> SqlExpression
  where Value == Sealed<Content>.Deterministic? { `in`(try sealings(of: content, with: keys)) }

  var sealedPlace: SealedPlace { SealedPlace(table: Model.tableName, column: name) }

  private func sealed<Form: SealedValue>(_ content: Form.Content, by key: SealingKey) throws -> Form {
    do {
      let plain = try SealedForm.plain(content.databaseValue(in: Form.Content.columnType))
      return try Form(bytes: SealedForm.seal(plain, in: sealedPlace, by: key, isDeterministic: Form.isDeterministic))
    } catch let error as SqlError { throw sealedPlace.located(error) }
  }

  private func opened<Form: SealedValue>(_ sealed: Form, with keys: KeyRing) throws -> Form.Content {
    do {
      return try Form.Content(
        databaseValue: SealedForm.value(SealedForm.open(sealed.bytes, in: sealedPlace, with: keys)))
    } catch let error as SqlError { throw sealedPlace.located(error) }
  }
}
#endif
