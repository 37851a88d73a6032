/// The file and line of a call.
@usableFromInline
package struct CallSite: Sendable, CustomStringConvertible {
  let file: StaticString
  let line: UInt

  @usableFromInline
  package init(file: StaticString, line: UInt) { (self.file, self.line) = (file, line) }

  @usableFromInline package var description: String { "\(file):\(line)" }

  /// Whether it is the library's own, which tells a program nothing.
  var isOwn: Bool { file.withUTF8Buffer { $0.starts(with: "Sqlable/".utf8) } }
}
