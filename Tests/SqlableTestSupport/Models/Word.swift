import SqlableCodable
import SqlableCore

/// A contentless full-text table: it stores the index but not the texts.
struct Word: SqlCodable, Equatable {
  var rowid: Int?
  var text: String?

  static let rowid = column("rowid", Int?.self, PrimaryKey())
  static let text = column("text", String?.self)
  static let tableLayout = [rowid.column, text.column]
  static let tableOptions: [TableOption] = [.fullText(tokenizer: .trigram, content: .none)]

  init(_ rowid: Int?, _ text: String?) { (self.rowid, self.text) = (rowid, text) }
}
