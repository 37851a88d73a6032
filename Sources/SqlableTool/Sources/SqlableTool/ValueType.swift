import Sqlable

struct ValueType: Equatable {
  enum Base: Equatable {
    case integer, real, text, blob, boolean
    case date(ColumnType.DateFormat)
    /// A value of any storage class, in a column of this type.
    case any(ColumnType)
  }

  let base: Base
  var remarks: [String] = []

  var swiftName: String {
    switch base {
    case .integer: "Int"
    case .real: "Double"
    case .text: "String"
    case .blob: "Data"
    case .boolean: "Bool"
    case .date: "Date"
    case .any: "StoredValue"
    }
  }

  /// The column type as an argument; nil if the Swift type implies the column type.
  var columnArgument: String? {
    switch base {
    case .date(.unixSecondsWithFraction): nil
    case .date(let format): ".date(.\(format.rawValue))"
    case .any(let type): "." + ValueType.name(of: type).lowercased()
    default: nil
    }
  }

  var sqlName: String {
    switch base {
    case .integer, .boolean, .date(.unixSeconds), .date(.unixMilliseconds): "INTEGER"
    case .real, .date(.unixSecondsWithFraction): "REAL"
    case .text, .date(.iso8601), .date(.iso8601AssumingUTC), .date(.sqliteText): "TEXT"
    case .blob: "BLOB"
    case .any(let type): ValueType.name(of: type)
    }
  }

  private static func name(of type: ColumnType) -> String {
    switch type {
    case .integer: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    default: "BLOB"
    }
  }
}

typealias Affinity = TypeAffinity

extension Affinity {
  /// The column type that a model declares for this affinity.
  var columnType: ColumnType {
    switch self {
    case .integer: .integer
    case .real, .numeric: .real
    case .text: .text
    case .blob: .blob
    }
  }
}

extension ValueType {
  /// Chooses the type that can represent all values of a column.
  ///
  /// - Parameters:
  ///   - declared: The declared type.
  ///   - refers: True if the column is part of a key or references a key. The type of such a column is never Bool.
  ///   - hasOtherDefault: True if the column has a default other than 0, 1 or NULL.
  init(_ profile: ColumnProfile, declared: String, refers: Bool, hasOtherDefault: Bool) {
    // In a STRICT table, the type ANY allows any value, like a column without a type.
    let declared = declared.uppercased() == "ANY" ? "" : declared
    // SQLite assigns the affinity NUMERIC to JSON, but programs store text in such columns.
    let affinity = declared.isJSONType ? Affinity.text : Affinity(of: declared)
    let classes = profile.classes
    guard !classes.isEmpty else {
      self = ValueType(declared, affinity)
      return
    }
    let isDate = declared.isDateType
    let isTruth =
      profile.integers == 0...1 || (declared.isTruthType && [0...0, 1...1].contains(profile.integers))
    var base: Base
    var remarks: [String] = []
    if profile.hasBrokenText {
      base = .any(affinity.columnType)
      remarks.append("contains text that is not UTF-8; the model reads such text as a BLOB")
    } else if classes == [.text] {
      let isISO = profile.dates.areDates && (affinity == .text || affinity == .blob || isDate)
      base = isISO ? .date(profile.dates.format) : .text
      if isISO, !profile.dates.haveWrittenForm {
        remarks.append(
          "dates in another format than the library writes: filters miss these dates, updates rewrite them")
      }
    } else if classes == [.integer] {
      if isTruth, !refers, !hasOtherDefault, affinity == .integer || declared.isTruthType {
        base = .boolean
        if !declared.isTruthType { remarks.append("contains only 0 and 1; use Int if other numbers are possible") }
      } else if isDate, let format = profile.dateFormat {
        base = .date(format)
      } else {
        base = affinity == .integer || refers || profile.hasInexact || affinity == .blob ? .integer : .real
      }
    } else if classes.isSubset(of: [.integer, .real]), !profile.hasInexact {
      base = isDate && profile.dateFormat != nil ? .date(.unixSecondsWithFraction) : .real
    } else if classes == [.blob] {
      base = .blob
    } else {
      base = .any(affinity.columnType)
    }
    if !declared.isEmpty, !classes.isSubset(of: affinity.classes(isDate: isDate)) {
      remarks.insert("declared \(declared.commented), but holds \(classes.words)", at: 0)
    }
    if case .any(let type) = base, !profile.hasBrokenText {
      remarks += ValueType.any(type, holding: classes).remarks.dropFirst(remarks.count)
    }
    self = ValueType(base: base, remarks: remarks)
  }

  static func any(_ type: ColumnType, holding classes: Set<StorageClass>) -> ValueType {
    ValueType(base: .any(type), remarks: ["holds \(classes.words)"])
  }

  private init(_ declared: String, _ affinity: Affinity) {
    if declared.isTruthType {
      self = ValueType(base: .boolean)
    } else if declared.isDateType {
      self = ValueType(base: .text, remarks: ["no stored value shows the format of the dates"])
    } else {
      let base: Base =
        switch affinity {
        case .integer: .integer
        case .real, .numeric: .real
        case .text: .text
        case .blob: .blob
        }
      self = ValueType(base: base, remarks: declared.isEmpty ? ["no declared type, and no stored value"] : [])
    }
  }
}

extension Set<StorageClass> {
  fileprivate var words: String { map(\.description).sorted().joined(separator: " and ") }
}

extension Affinity {
  fileprivate func classes(isDate: Bool) -> Set<StorageClass> {
    switch self {
    case .integer: [.integer]
    case .real: [.real, .integer]
    case .text: [.text]
    case .blob: [.blob]
    case .numeric: isDate ? [.integer, .real, .text] : [.integer, .real]
    }
  }
}

extension String {
  fileprivate var isDateType: Bool {
    let name = uppercased()
    return name.hasPrefix("DATE") || name.hasPrefix("TIMESTAMP")
  }

  fileprivate var isTruthType: Bool { uppercased().hasPrefix("BOOL") }

  fileprivate var isJSONType: Bool { uppercased() == "JSON" }
}

extension ColumnProfile {
  /// The format in which the column's numbers are dates between 1973 and 2286; nil if no format fits.
  fileprivate var dateFormat: ColumnType.DateFormat? {
    let seconds = 1e8...1e10
    func are(in range: ClosedRange<Double>) -> Bool {
      (integers.map { range.contains(Double($0.lowerBound)) && range.contains(Double($0.upperBound)) } ?? true)
        && (reals.map { range.contains($0.lowerBound) && range.contains($0.upperBound) } ?? true)
    }
    if are(in: seconds) { return reals == nil ? .unixSeconds : .unixSecondsWithFraction }
    return reals == nil && are(in: 1e11...1e13) ? .unixMilliseconds : nil
  }
}
