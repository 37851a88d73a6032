import Testing

@testable import CheckRules

struct SourceFileTests {
  @Test(arguments: [
    ("a // b", "a     "), ("a /* b /* c */ d */ e", "a                   e"), ("a \"b\" c", "a     c"),
    ("a \"\\\"b\" c", "a       c"), ("a \"\\(b(c)) d\" e", "a    b(c))    e"),
    ("a #\"b\\(c)\" \"# d", "a             d"),
    ("a #\"b\\#(c)\"# d", "a       c)   d"), ("a \"b\nc", "a   \nc"), ("a \"\" b", "a    b"), ("#if a", "#if a"),
    ("\"\"\"\n  a \"\" b\n  \"\"\" c", "                   c"), ("\"\\(a(\"b\")) c\" d", "   a(   ))    d"),
    ("a \"// b\" c", "a        c"), ("/* \" */ a", "        a"),
  ])
  func commentsAndTextsAreBlanked(text: String, code: String) {
    #expect(String(decoding: SourceFile("A.swift", text).code, as: UTF8.self) == code)
  }

  @Test func textsAreNotTreatedAsComments() {
    let file = SourceFile("A.swift", "a \"b\" // c\n/* d\n */ e")
    #expect(String(decoding: file.uncommented, as: UTF8.self) == "a \"b\"     \n    \n    e")
    #expect(file.lines.map(file.text) == ["a \"b\" // c", "/* d", " */ e"])
  }
}
