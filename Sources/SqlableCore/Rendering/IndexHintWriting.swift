extension SqlBuffer {
  func append(hint: IndexHint) throws {
    guard let name = hint.name else { return append(" NOT INDEXED") }
    guard !name.utf8.contains(0) else { throw SqlError.invalidStatement("the name of an index contains a NUL byte") }
    append(" INDEXED BY ")
    append(name.quotedBytes())
  }
}
