extension MemoryPlanner {
  /// `text REGEXP pattern`, as the library's own function has it.
  func regexp(_ text: MemoryTerm, _ pattern: MemoryTerm) -> MemoryTerm {
    var known = KnownExpressions()
    return MemoryTerm(of: [text, pattern]) { frame in
      let (own, other) = (try text.value(frame), try pattern.value(frame))
      if own.isNull || other.isNull { return .null }
      guard own.storageClass != .blob, other.storageClass != .blob, let text = own.textBytes,
        let pattern = other.textBytes
      else { return MemoryValue(false) }
      return MemoryValue(
        try known.matches(String(decoding: pattern, as: UTF8.self), String(decoding: text, as: UTF8.self)))
    }
  }
}
